//! Whether a model fits the memory that is free.

use std::path::{Path, PathBuf};

use crate::ModelError;

const MIB: u64 = 1 << 20;

/// Refuses a model that would need more memory than is free.
///
/// Where the system does not say how much is free, nothing is refused.
///
/// # Errors
/// [`ModelError::DoesNotFit`] with both numbers.
pub fn check_fit(model: &str, needed_bytes: u64) -> Result<(), ModelError> {
    match available_bytes() {
        Some(free) if needed_bytes > free => Err(does_not_fit(model, needed_bytes, free)),
        _ => Ok(()),
    }
}

fn does_not_fit(model: &str, needed_bytes: u64, free_bytes: u64) -> ModelError {
    ModelError::DoesNotFit {
        model: model.to_owned(),
        needed_mib: needed_bytes.div_ceil(MIB),
        free_mib: free_bytes / MIB,
    }
}

/// Bytes that a process may still take: the machine's available memory or what this process's control groups leave,
/// whichever is less. `None` where the system does not say.
pub fn available_bytes() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| mem_available(&text));
    let groups = std::fs::read_to_string("/proc/self/cgroup")
        .ok()
        .and_then(|text| group_limits(&text, Path::new("/sys/fs/cgroup")));
    match (machine, groups) {
        (Some(machine), Some(groups)) => Some(machine.min(groups)),
        (machine, groups) => machine.or(groups),
    }
}

fn mem_available(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The least room in this process's group and every group above it.
fn group_limits(membership: &str, root: &Path) -> Option<u64> {
    membership
        .lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            if id == "0" && controllers.is_empty() {
                Some((
                    root.to_path_buf(),
                    path,
                    "memory.max",
                    "memory.current",
                    "inactive_file",
                ))
            } else if controllers.split(',').any(|name| name == "memory") {
                let names = (
                    "memory.limit_in_bytes",
                    "memory.usage_in_bytes",
                    "total_inactive_file",
                );
                Some((root.join("memory"), path, names.0, names.1, names.2))
            } else {
                None
            }
        })
        .flat_map(|(root, path, limit, usage, reclaimable)| {
            ancestors(&root, path)
                .into_iter()
                .filter_map(move |group| room(&group, limit, usage, reclaimable))
        })
        .min()
}

/// The group's folder and those above it, up to the root. Inside a container the path may not exist; the root then
/// stands for the container itself.
fn ancestors(root: &Path, path: &str) -> Vec<PathBuf> {
    let inside: PathBuf = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != "..")
        .collect();
    inside.ancestors().map(|part| root.join(part)).collect()
}

fn room(group: &Path, limit: &str, usage: &str, reclaimable: &str) -> Option<u64> {
    let read = |name: &str| std::fs::read_to_string(group.join(name)).ok();
    let limit: u64 = read(limit)?.trim().parse().ok()?;
    let usage: u64 = read(usage)?.trim().parse().ok()?;
    // File pages that the kernel drops under pressure do not count as used.
    let reclaimable = read("memory.stat")
        .and_then(|stat| {
            stat.lines()
                .find_map(|line| line.strip_prefix(reclaimable)?.trim().parse().ok())
        })
        .unwrap_or(0);
    Some(limit.saturating_sub(usage.saturating_sub(reclaimable)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read_in_bytes() {
        let text = "MemTotal:       24000000 kB\nMemFree:  1 kB\nMemAvailable:   20000 kB\n";
        assert_eq!(mem_available(text), Some(20_000 * 1024));
        assert_eq!(mem_available("MemTotal: 5 kB\n"), None);
    }

    fn group(folder: &Path, limit: &str, usage: &str, inactive: u64) {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("memory.max"), limit).unwrap();
        std::fs::write(folder.join("memory.current"), usage).unwrap();
        std::fs::write(
            folder.join("memory.stat"),
            format!("anon 5\ninactive_file {inactive}\n"),
        )
        .unwrap();
    }

    #[test]
    fn the_tightest_group_decides() {
        let root = tempfile::tempdir().unwrap();
        group(&root.path().join("a"), "1000\n", "900\n", 50);
        group(&root.path().join("a/b"), "max\n", "900\n", 0);
        assert_eq!(group_limits("0::/a/b\n", root.path()), Some(150));
        assert_eq!(group_limits("0::/elsewhere\n", root.path()), None);
    }

    #[test]
    fn too_large_a_model_is_refused_with_both_numbers() {
        let message = does_not_fit("m", 3 * MIB + 1, 2 * MIB).to_string();
        assert!(
            message.contains("4 MiB") && message.contains("2 MiB"),
            "{message}"
        );
        assert!(check_fit("m", 0).is_ok());
        if available_bytes().is_some() {
            assert!(matches!(
                check_fit("m", u64::MAX),
                Err(ModelError::DoesNotFit { .. })
            ));
        }
    }
}
