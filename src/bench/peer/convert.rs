//! The peer's files: the model as shipped and what the peer's own quantise call makes of it.

use std::ffi::CString;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::super::BenchError;

/// A weight format of the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum PeerFile {
    /// The file that the model ships as.
    #[serde(rename = "as shipped")]
    AsShipped,
    /// float32.
    F32,
    /// bfloat16.
    #[serde(rename = "BF16")]
    Bf16,
    /// 8-bit blocks of 32.
    #[serde(rename = "Q8_0")]
    Q8,
    /// 4-bit blocks of 32.
    #[serde(rename = "Q4_0")]
    Q4,
}

impl PeerFile {
    /// Every format, most exact first.
    pub const ALL: [PeerFile; 5] = [
        PeerFile::F32,
        PeerFile::Bf16,
        PeerFile::Q8,
        PeerFile::Q4,
        PeerFile::AsShipped,
    ];

    /// The name in records and file names.
    pub fn as_str(self) -> &'static str {
        match self {
            PeerFile::AsShipped => "as-shipped",
            PeerFile::F32 => "F32",
            PeerFile::Bf16 => "BF16",
            PeerFile::Q8 => "Q8_0",
            PeerFile::Q4 => "Q4_0",
        }
    }

    fn file_type(self) -> Option<llama_cpp_sys_2::llama_ftype> {
        match self {
            PeerFile::AsShipped => None,
            PeerFile::F32 => Some(llama_cpp_sys_2::LLAMA_FTYPE_ALL_F32),
            PeerFile::Bf16 => Some(llama_cpp_sys_2::LLAMA_FTYPE_MOSTLY_BF16),
            PeerFile::Q8 => Some(llama_cpp_sys_2::LLAMA_FTYPE_MOSTLY_Q8_0),
            PeerFile::Q4 => Some(llama_cpp_sys_2::LLAMA_FTYPE_MOSTLY_Q4_0),
        }
    }
}

impl std::str::FromStr for PeerFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        PeerFile::ALL
            .into_iter()
            .find(|file| file.as_str().eq_ignore_ascii_case(text))
            .ok_or_else(|| format!("unknown peer file {text:?}: use F32, BF16, Q8_0, Q4_0 or as-shipped"))
    }
}

/// The file of `format` for the model at `shipped`, made in `folder` where it is not there yet.
///
/// # Errors
/// The folder cannot be written or the peer cannot convert the file.
pub fn convert(
    shipped: &Path,
    weights_hash: &str,
    format: PeerFile,
    folder: &Path,
    threads: usize,
) -> Result<PathBuf, BenchError> {
    let Some(file_type) = format.file_type() else {
        return Ok(shipped.to_owned());
    };
    let io = |source| BenchError::Io {
        path: folder.to_owned(),
        source,
    };
    let target = folder.join(format!(
        "{}-{}.gguf",
        weights_hash.get(..16).unwrap_or(weights_hash),
        format.as_str()
    ));
    if target.is_file() {
        return Ok(target);
    }
    std::fs::create_dir_all(folder).map_err(io)?;
    let partial = target.with_extension(format!("partial-{}", std::process::id()));
    let c_path = |path: &Path| {
        CString::new(path.to_string_lossy().as_bytes()).map_err(|error| BenchError::Peer {
            what: path.display().to_string(),
            reason: error.to_string(),
        })
    };
    let (from, to) = (c_path(shipped)?, c_path(&partial)?);
    tracing::info!(format = format.as_str(), "converting the peer's file");
    // SAFETY: the call takes nothing and returns plain data.
    let mut parameters = unsafe { llama_cpp_sys_2::llama_model_quantize_default_params() };
    parameters.nthread = i32::try_from(threads).unwrap_or(1);
    parameters.ftype = file_type;
    parameters.allow_requantize = true;
    // SAFETY: both paths are NUL-terminated and outlive the call, as do the parameters, whose pointers are null.
    let code =
        unsafe { llama_cpp_sys_2::llama_model_quantize(from.as_ptr(), to.as_ptr(), &raw const parameters) };
    if code != 0 {
        let _ = std::fs::remove_file(&partial);
        return Err(BenchError::Peer {
            what: format!("converting {} to {}", shipped.display(), format.as_str()),
            reason: format!("its quantise call returned {code}"),
        });
    }
    std::fs::rename(&partial, &target).map_err(io)?;
    Ok(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for file in PeerFile::ALL {
            assert_eq!(file.as_str().parse::<PeerFile>(), Ok(file));
        }
        assert!("Q9".parse::<PeerFile>().unwrap_err().contains("BF16"));
    }

    #[test]
    fn the_shipped_file_is_used_in_place() {
        let path = Path::new("/models/m.gguf");
        let found = convert(path, "abc", PeerFile::AsShipped, Path::new("/nowhere"), 1).unwrap();
        assert_eq!(found, path);
    }
}
