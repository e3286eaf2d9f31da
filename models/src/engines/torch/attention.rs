//! Attention in float32, tile by tile, so that scores never take more than [`MOST_SCORES`] numbers at once.

use tch::{Device, Tensor};

use super::visibility::Tile;
use crate::{Interrupt, ModelError};

/// Most scores of a tile over all heads: 64 MiB in float32.
pub(super) const MOST_SCORES: usize = 16 << 20;

/// A tile on the device.
pub(super) struct TileTensors {
    queries: (i64, i64),
    keys: Vec<(i64, i64)>,
    /// `[queries, keys]`, true where a key is hidden.
    hidden: Option<Tensor>,
}

impl TileTensors {
    pub(super) fn of(tile: &Tile, device: Device) -> Result<Self, ModelError> {
        let count = tile.queries.len() as i64;
        let hidden = match &tile.hidden {
            Some(hidden) => Some(
                Tensor::f_from_slice(hidden)?
                    .f_reshape([count, -1])?
                    .f_to_device(device)?,
            ),
            None => None,
        };
        Ok(Self {
            queries: (tile.queries.start as i64, count),
            keys: tile
                .keys
                .iter()
                .map(|run| (i64::from(run.start), i64::from(run.end - run.start)))
                .collect(),
            hidden,
        })
    }

    /// The tile's rows of `[rows, heads, head_dim]`.
    fn keys_of(&self, rows: &Tensor) -> Result<Tensor, ModelError> {
        let runs: Vec<Tensor> = self
            .keys
            .iter()
            .map(|(start, len)| rows.f_narrow(0, *start, *len))
            .collect::<Result<_, _>>()?;
        match <[Tensor; 1]>::try_from(runs) {
            Ok([one]) => Ok(one),
            Err(runs) => Ok(Tensor::f_cat(&runs, 0)?),
        }
    }
}

/// Queries `[queries, heads, head_dim]` over keys and values `[rows, kv_heads, head_dim]`, to `[queries, heads *
/// head_dim]`. Query head n uses key head n / (heads / kv_heads).
///
/// # Errors
/// The engine failed, or its end was asked for between two tiles.
pub(super) fn attend(
    queries: &Tensor,
    keys: &Tensor,
    values: &Tensor,
    scale: f32,
    tiles: &[TileTensors],
    interrupt: &Interrupt,
) -> Result<Tensor, ModelError> {
    let (_, heads, dim) = queries.size3()?;
    let (_, kv_heads, _) = keys.size3()?;
    let group = heads / kv_heads;
    let mut parts = Vec::with_capacity(tiles.len());
    for tile in tiles {
        if interrupt.is_asked() {
            return Err(ModelError::Interrupted);
        }
        let (first, count) = tile.queries;
        let query = queries
            .f_narrow(0, first, count)?
            .f_reshape([count, kv_heads, group, dim])?
            .f_permute([1, 2, 0, 3])?
            .f_mul_scalar(f64::from(scale))?
            .f_reshape([kv_heads, group * count, dim])?;
        let key = tile.keys_of(keys)?.f_permute([1, 2, 0])?;
        let value = tile.keys_of(values)?.f_permute([1, 0, 2])?;
        let scores = query.f_bmm(&key)?;
        if let Some(hidden) = &tile.hidden {
            let (_, seen) = hidden.size2()?;
            // A view of the scores, which are changed in place.
            let _ = scores
                .f_view([kv_heads, group, count, seen])?
                .f_masked_fill_(hidden, f64::NEG_INFINITY)?;
        }
        let mut weights = scores.f_softmax(-1, None)?;
        // Weights below float32's normal form add nothing to a sum of it, and multiply many times as slowly.
        let _ = weights.f_threshold_(f64::from(f32::MIN_POSITIVE), 0.0)?;
        parts.push(
            weights
                .f_bmm(&value)?
                .f_reshape([kv_heads, group, count, dim])?
                .f_permute([2, 0, 1, 3])?
                .f_reshape([count, heads * dim])?,
        );
    }
    Ok(Tensor::f_cat(&parts, 0)?)
}
