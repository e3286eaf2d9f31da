//! What a benchmark ran on.

/// The machine and the binary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Processor name, or the architecture where the system does not tell.
    pub cpu: String,
    /// Threads that the system offers this process.
    pub threads: usize,
    /// Version, profile and compile-time vector features of this binary.
    pub build: String,
}

impl Host {
    /// Reads the machine's description.
    pub fn read() -> Self {
        let cpu = std::fs::read_to_string("/proc/cpuinfo")
            .ok()
            .and_then(|text| model_name(&text))
            .unwrap_or_else(|| std::env::consts::ARCH.to_owned());
        Self {
            cpu,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            build: build(),
        }
    }
}

/// Peak resident memory of this process in MiB, where the system tells.
pub fn peak_memory_mib() -> Option<f64> {
    status_mib("VmHWM:")
}

/// Resident memory of this process in MiB, where the system tells.
pub fn memory_mib() -> Option<f64> {
    status_mib("VmRSS:")
}

/// Resident memory of this process by what backs it, in MiB.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Resident {
    /// The process's own.
    pub(super) anon_mib: f64,
    /// Pages of mapped files, which the system may drop.
    pub(super) file_mib: f64,
}

/// What is resident now, where the system tells.
pub(super) fn resident() -> Option<Resident> {
    Some(Resident {
        anon_mib: status_mib("RssAnon:")?,
        file_mib: status_mib("RssFile:")?,
    })
}

/// Resident memory of another process in MiB, where the system tells.
pub(super) fn memory_mib_of(process: u32) -> Option<f64> {
    field_mib(&format!("/proc/{process}/status"), "VmRSS:")
}

fn status_mib(field: &str) -> Option<f64> {
    field_mib("/proc/self/status", field)
}

fn field_mib(path: &str, field: &str) -> Option<f64> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

fn model_name(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn build() -> String {
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    let vectors = if cfg!(target_feature = "avx512f") {
        ", compiled for avx512"
    } else if cfg!(target_feature = "avx2") {
        ", compiled for avx2"
    } else {
        ""
    };
    format!("assize {} {profile}{vectors}", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_processor_name() {
        let text = "processor\t: 0\nmodel name\t: ACME 9\nflags\t: x\nmodel name\t: other\n";
        assert_eq!(model_name(text).as_deref(), Some("ACME 9"));
        assert_eq!(model_name("processor : 0\n"), None);
    }

    #[test]
    fn the_build_names_the_version() {
        assert!(Host::read().build.contains(env!("CARGO_PKG_VERSION")));
    }
}
