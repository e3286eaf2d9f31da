//! Where the cache lies.

use std::path::PathBuf;

/// `$ASSIZE_CACHE`, else `assize` in the platform's cache folder; `None` for a user without a home.
pub fn default_cache_dir() -> Option<PathBuf> {
    match std::env::var_os("ASSIZE_CACHE").filter(|value| !value.is_empty()) {
        Some(value) => Some(PathBuf::from(value)),
        None => directories::BaseDirs::new().map(|dirs| dirs.cache_dir().join("assize")),
    }
}
