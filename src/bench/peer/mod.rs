//! The peer: llama.cpp, compiled in by the feature `peer-llama`.

mod convert;
mod model;

use llama_cpp_2::llama_backend::LlamaBackend;
use serde::Serialize;

use super::BenchError;

pub use convert::{PeerFile, convert};
pub use model::{PeerModel, PeerSession};

/// The peer's library, started once per process.
pub struct Peer {
    backend: LlamaBackend,
}

/// How the peer was compiled, so that a reader can judge the comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PeerBuild {
    /// Whether it uses every vector extension that it knows and this host has.
    pub native: bool,
    /// What it says about itself.
    pub system_info: String,
    /// Version of the binding crate.
    pub version: &'static str,
}

impl Peer {
    /// Starts the library with its log silenced.
    ///
    /// # Errors
    /// It was started before in this process.
    pub fn start() -> Result<Self, BenchError> {
        let mut backend = LlamaBackend::init().map_err(|error| BenchError::Peer {
            what: "start".into(),
            reason: error.to_string(),
        })?;
        backend.void_logs();
        Ok(Self { backend })
    }

    pub(super) fn backend(&self) -> &LlamaBackend {
        &self.backend
    }

    /// How it was compiled.
    pub fn build(&self) -> PeerBuild {
        // SAFETY: the call takes nothing and returns a NUL-terminated string that lives as long as the process.
        let text = unsafe { std::ffi::CStr::from_ptr(llama_cpp_sys_2::llama_print_system_info()) };
        let system_info = text.to_string_lossy().trim().to_owned();
        PeerBuild {
            native: uses_host(&system_info, &host_extensions()),
            system_info,
            version: "llama-cpp-2 0.1.160",
        }
    }
}

/// The peer's names of the vector extensions that this host has.
fn host_extensions() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        let all = [
            ("AVX", is_x86_feature_detected!("avx")),
            ("AVX2", is_x86_feature_detected!("avx2")),
            ("FMA", is_x86_feature_detected!("fma")),
            ("F16C", is_x86_feature_detected!("f16c")),
            ("AVX512", is_x86_feature_detected!("avx512f")),
            ("AVX512_VNNI", is_x86_feature_detected!("avx512vnni")),
            ("AVX512_BF16", is_x86_feature_detected!("avx512bf16")),
        ];
        all.into_iter()
            .filter(|(_, has)| *has)
            .map(|(name, _)| name)
            .collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}

/// Whether `NAME = 1` stands in the peer's description for every extension.
fn uses_host(system_info: &str, extensions: &[&str]) -> bool {
    let on = |name: &&str| {
        system_info.split(['|', ':']).any(|part| {
            part.split_once('=')
                .is_some_and(|(key, value)| key.trim() == *name && value.trim() == "1")
        })
    };
    extensions.iter().all(on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_the_hosts_extensions_is_not_native() {
        let info = "CPU : SSE3 = 1 | AVX2 = 1 | AVX512 = 0 | LLAMAFILE = 1 | ";
        assert!(uses_host(info, &["SSE3", "AVX2"]));
        assert!(!uses_host(info, &["AVX2", "AVX512"]));
        assert!(!uses_host(info, &["AVX512_VNNI"]));
    }
}
