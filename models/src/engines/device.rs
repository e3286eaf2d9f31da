//! Where an engine runs.

/// A processor or an accelerator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Device {
    /// The first CUDA device where the engine sees one, else the processor.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// The n-th CUDA device, from 0.
    Cuda(u16),
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Device::Auto => f.write_str("auto"),
            Device::Cpu => f.write_str("cpu"),
            Device::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

impl std::str::FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let index = text.strip_prefix("cuda:").map(str::parse);
        match (text, index) {
            ("auto", _) => Ok(Device::Auto),
            ("cpu", _) => Ok(Device::Cpu),
            ("cuda", _) => Ok(Device::Cuda(0)),
            (_, Some(Ok(index))) => Ok(Device::Cuda(index)),
            (other, _) => Err(format!(
                "unknown device {other:?}: use auto, cpu or cuda:0, cuda:1, ..."
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Device;

    #[test]
    fn devices_are_read_as_they_are_written() {
        for device in [Device::Auto, Device::Cpu, Device::Cuda(0), Device::Cuda(7)] {
            assert_eq!(device.to_string().parse(), Ok(device));
        }
        assert_eq!("cuda".parse(), Ok(Device::Cuda(0)));
        for wrong in ["gpu", "cuda:", "cuda:-1", "cuda:70000", "CPU", ""] {
            assert!(wrong.parse::<Device>().unwrap_err().contains("cuda:0"), "{wrong}");
        }
    }
}
