//! Arguments that choose the engine and where it runs.

use assize_models::engines::{Device, Engine};
use clap::Args;

/// Which engine, and on which device.
#[derive(Debug, Clone, Copy, Args)]
pub struct EngineChoice {
    /// onnx (float32 and int8 on the processor) or torch (float32 and bf16, on CUDA too; only in builds with the feature
    /// `torch`) [default: onnx]
    #[arg(long, value_name = "ENGINE", env = "ASSIZE_ENGINE")]
    pub engine: Option<Engine>,
    /// auto, cpu or cuda:N; auto is the first CUDA device where the engine sees one
    #[arg(long, value_name = "DEVICE", default_value_t = Device::Auto, env = "ASSIZE_DEVICE")]
    pub device: Device,
}
