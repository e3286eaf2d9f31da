//! Finding and starting ONNX Runtime, once per process.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ort::environment::{Environment, GlobalThreadPoolOptions};

use super::ENGINE;
use crate::ModelError;
use crate::store::check_library;

/// The running library.
pub(super) struct Runtime {
    pub(super) environment: Environment,
    pub(super) threads: usize,
    pub(super) library: PathBuf,
    /// The library's release number.
    pub(super) version: String,
}

static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();

/// The process's runtime; the first caller decides the number of threads.
pub(super) fn runtime(
    library_dir: Option<&Path>,
    threads: Option<usize>,
) -> Result<&'static Runtime, ModelError> {
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = threads.unwrap_or(available);
    let failed = |reason: String| ModelError::Engine {
        engine: ENGINE,
        reason,
    };
    if wanted == 0 {
        return Err(failed("threads must be at least 1".into()));
    }
    let runtime = RUNTIME
        .get_or_init(|| start(library_dir, wanted))
        .as_ref()
        .map_err(|e| failed(e.clone()))?;
    if threads.is_some_and(|threads| threads != runtime.threads) {
        return Err(failed(format!(
            "this process already runs {} threads: {wanted} threads need a process of their own",
            runtime.threads
        )));
    }
    Ok(runtime)
}

fn start(library_dir: Option<&Path>, threads: usize) -> Result<Runtime, String> {
    let library = find(library_dir);
    if library_dir.is_some_and(|folder| library.parent() == Some(folder)) {
        check_library(&library).map_err(|error| error.to_string())?;
    }
    let builder = ort::init_from(&library).map_err(|error| {
        format!(
            "the ONNX Runtime library could not be loaded from {}: {error}. Run `assize engine pull`, or set \
             ORT_DYLIB_PATH to a libonnxruntime.so of version 1.24 or later",
            library.display()
        )
    })?;
    let pool = GlobalThreadPoolOptions::default()
        .with_intra_threads(threads)
        .and_then(|pool| pool.with_inter_threads(1))
        .map_err(|error| error.to_string())?;
    let environment = builder
        .with_name("assize")
        .with_telemetry(false)
        .with_global_thread_pool(pool)
        .build()
        .map_err(|error| error.to_string())?;
    tracing::debug!(library = %library.display(), threads, "ONNX Runtime started");
    Ok(Runtime {
        environment,
        threads,
        version: version(&library)?,
        library,
    })
}

/// Asks the library, which is loaded already, for its release number.
fn version(library: &Path) -> Result<String, String> {
    type ApiBase = unsafe extern "C" fn() -> *const ort::sys::OrtApiBase;
    // SAFETY: the same file was loaded as ONNX Runtime before, so loading it again runs nothing, and the two calls are
    // the library's documented entry points; the string is static.
    unsafe {
        let handle = libloading::Library::new(library).map_err(|error| error.to_string())?;
        let base = handle
            .get::<ApiBase>(b"OrtGetApiBase\0")
            .map_err(|error| error.to_string())?();
        let text = std::ffi::CStr::from_ptr(((*base).GetVersionString)());
        Ok(text.to_string_lossy().into_owned())
    }
}

/// `$ORT_DYLIB_PATH`, else the library folder, else beside the executable, else wherever the system's loader looks.
fn find(library_dir: Option<&Path>) -> PathBuf {
    if let Some(path) = std::env::var_os("ORT_DYLIB_PATH").filter(|path| !path.is_empty()) {
        return path.into();
    }
    let beside = std::env::current_exe()
        .ok()
        .and_then(|path| path.parent().map(Path::to_path_buf));
    library_dir
        .and_then(library_in)
        .or_else(|| beside.as_deref().and_then(library_in))
        .unwrap_or_else(|| "libonnxruntime.so".into())
}

/// The library of the highest version in a folder.
pub(crate) fn library_in(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let named = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(is_library)
    };
    paths.filter(named).max()
}

/// Whether a file name is that of the library itself, not of one of its providers.
pub(crate) fn is_library(name: &str) -> bool {
    name.starts_with("libonnxruntime.so")
        || name == "onnxruntime.dll"
        || (name.starts_with("libonnxruntime.") && name.ends_with(".dylib"))
}
