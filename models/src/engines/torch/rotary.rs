//! Rotary position embedding in float32, "half" layout.

use tch::{Kind, Tensor};

use crate::{ModelError, Rope};

/// Cosines and sines `[rows, 1, head_dim / 2]` of one embedding at the positions of some rows.
pub(super) struct RotaryTable {
    cos: Tensor,
    sin: Tensor,
}

impl RotaryTable {
    /// The angle is rounded to float32 as the reference does; its sine and cosine are then exact.
    pub(super) fn of(rope: &Rope, positions: &Tensor) -> Result<Self, ModelError> {
        let frequencies = Tensor::f_from_slice(&rope.inverse_frequencies)?.f_to_device(positions.device())?;
        let angles = positions
            .f_to_kind(Kind::Float)?
            .f_reshape([-1, 1, 1])?
            .f_mul(&frequencies)?
            .f_to_kind(Kind::Double)?;
        Ok(Self {
            cos: angles.f_cos()?.f_to_kind(Kind::Float)?,
            sin: angles.f_sin()?.f_to_kind(Kind::Float)?,
        })
    }

    /// The table of some of the rows.
    pub(super) fn select(&self, rows: &Tensor) -> Result<Self, ModelError> {
        Ok(Self {
            cos: self.cos.f_index_select(0, rows)?,
            sin: self.sin.f_index_select(0, rows)?,
        })
    }

    /// Rotates `[rows, heads, head_dim]`.
    pub(super) fn rotate(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        let half = x.size().last().copied().unwrap_or(0) / 2;
        let (low, high) = (x.f_narrow(-1, 0, half)?, x.f_narrow(-1, half, half)?);
        let first = low.f_mul(&self.cos)?.f_sub(&high.f_mul(&self.sin)?)?;
        let second = high.f_mul(&self.cos)?.f_add(&low.f_mul(&self.sin)?)?;
        Ok(Tensor::f_cat(&[first, second], -1)?)
    }
}
