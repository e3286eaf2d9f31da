//! Result files, which appear whole or not at all.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

/// Writes `bytes` to `path` by way of a file beside it.
pub(super) fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        file.write_all(bytes)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            // Temporary files are for their owner alone; results are as readable as any other file.
            file.as_file()
                .set_permissions(std::fs::Permissions::from_mode(0o644))?;
        }
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().with_context(|| format!("writing {}", path.display()))
}

/// Writes `value` as indented JSON.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> anyhow::Result<()> {
    write(path, json(value)?.as_bytes())
}

/// Indented JSON with a line end.
pub(super) fn json(value: &impl Serialize) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
}
