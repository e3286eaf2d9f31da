//! What this host has for libtorch: devices, threads and the kernels behind the linear layers.

use tch::{Cuda, Device};

use super::{ENGINE, VERSION, engine_error};
use crate::engines::{self, TorchHost};
use crate::{ModelError, Precision};

/// Where a model runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) device: Device,
    /// Threads of one pass on the processor.
    pub(super) threads: usize,
}

impl Place {
    /// The device that was asked for.
    ///
    /// # Errors
    /// libtorch sees no such device, or no thread is allowed.
    pub(super) fn choose(device: engines::Device, threads: Option<usize>) -> Result<Self, ModelError> {
        let seen = cuda_devices();
        let device = match device {
            engines::Device::Cpu => Device::Cpu,
            engines::Device::Auto if seen == 0 => Device::Cpu,
            engines::Device::Auto => Device::Cuda(0),
            engines::Device::Cuda(index) if usize::from(index) < seen => Device::Cuda(usize::from(index)),
            missing @ engines::Device::Cuda(_) => {
                return Err(ModelError::Unsupported(format!(
                    "device {missing}: libtorch sees {seen} CUDA devices; the processor is device cpu"
                )));
            }
        };
        let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
        if threads == 0 {
            return Err(engine_error("threads must be at least 1"));
        }
        Ok(Self { device, threads })
    }

    /// Prepares the calling thread: libtorch keeps the number of threads for each thread that asks.
    pub(super) fn enter(&self) {
        tch::set_num_threads(i32::try_from(self.threads).unwrap_or(i32::MAX));
    }

    /// bf16 where products of bf16 numbers are an instruction, else float32.
    pub(super) fn default_precision(&self) -> Precision {
        match self.device {
            Device::Cpu if !multiplies_bf16() => Precision::Float32,
            _ => Precision::Bfloat16,
        }
    }

    /// What the linear layers run on.
    pub(super) fn kernels(&self, precision: Precision) -> String {
        match (self.device, precision) {
            (Device::Cpu, Precision::Bfloat16) if multiplies_bf16() => "mkldnn bf16".into(),
            (Device::Cpu, Precision::Bfloat16) => "mkldnn bf16, emulated".into(),
            (Device::Cpu, _) if tch::utils::has_mkl() => "mkl float32".into(),
            (Device::Cpu, _) => "float32".into(),
            (device, precision) => format!("{} {precision}", name(device)),
        }
    }
}

fn cuda_devices() -> usize {
    usize::try_from(Cuda::device_count()).unwrap_or(0)
}

fn name(device: Device) -> String {
    match device {
        Device::Cuda(index) => format!("cuda:{index}"),
        _ => "cpu".into(),
    }
}

/// Whether the processor has an instruction for products of bf16 numbers.
fn multiplies_bf16() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512bf16");
    #[cfg(target_arch = "aarch64")]
    return std::arch::is_aarch64_feature_detected!("bf16");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    false
}

/// See [`engines::torch_host`].
pub(in crate::engines) fn host() -> TorchHost {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let devices = std::iter::once(Device::Cpu).chain((0..cuda_devices()).map(Device::Cuda));
    let device = if cuda_devices() == 0 {
        Device::Cpu
    } else {
        Device::Cuda(0)
    };
    let place = Place { device, threads };
    let precision = place.default_precision();
    TorchHost {
        name: ENGINE,
        version: VERSION,
        devices: devices.map(name).collect(),
        device: name(device),
        kernels: place.kernels(precision),
        threads,
        precision,
    }
}
