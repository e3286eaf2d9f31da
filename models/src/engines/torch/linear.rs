//! A linear layer in its own precision, between float32 inputs and outputs.

use tch::{Kind, Tensor};

use crate::ModelError;

/// `x W^T`, without bias.
pub(super) struct Linear {
    /// `[out, in]`
    weight: Tensor,
}

impl Linear {
    pub(super) fn new(weight: Tensor) -> Self {
        Self { weight }
    }

    /// float32 `[rows, in]` to float32 `[rows, out]`.
    pub(super) fn apply(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        self.apply_narrowed(&self.narrow(x)?)
    }

    /// `x` in this layer's precision, for several layers of one input.
    pub(super) fn narrow(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        Ok(x.f_to_kind(self.weight.f_kind()?)?)
    }

    /// [`Self::apply`] to what [`Self::narrow`] returned.
    pub(super) fn apply_narrowed(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        let product = x.f_linear(&self.weight, None::<&Tensor>)?;
        Ok(product.f_to_kind(Kind::Float)?)
    }
}

/// x / sqrt(mean(x^2) + epsilon) over the last dimension, times `weight` where there is one.
pub(super) fn rms_norm(x: &Tensor, weight: Option<&Tensor>, epsilon: f32) -> Result<Tensor, ModelError> {
    let width = x.size().last().copied().unwrap_or(0);
    Ok(x.f_rms_norm([width], weight, f64::from(epsilon))?)
}
