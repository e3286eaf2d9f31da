//! One decoder layer: its tensors and its pass.

use tch::Tensor;

use super::attention::{TileTensors, attend};
use super::linear::{Linear, rms_norm};
use super::loader::Loader;
use super::rotary::RotaryTable;
use crate::{Activation, DecoderDescription, Interrupt, LayerDescription, LayerWeight, ModelError, Weight};

/// Rows that pass the feed-forward block at once, which bounds its memory.
pub(super) const FEED_FORWARD_ROWS: i64 = 2048;

/// The tensors of a layer.
pub(super) struct Layer {
    shape: LayerDescription,
    epsilon: f32,
    activation: Activation,
    input_norm: Tensor,
    query: Linear,
    key: Linear,
    /// `None` where values are the keys as projected.
    value: Option<Linear>,
    /// Norms of query and key heads, where the layer has them.
    head_norms: Option<(Tensor, Tensor)>,
    attention_output: Linear,
    feed_forward_norm: Tensor,
    gate: Linear,
    up: Linear,
    down: Linear,
    /// Norms after attention and after the feed-forward block, where the layer has them.
    post_norms: Option<(Tensor, Tensor)>,
    output_scale: Option<Tensor>,
}

/// What a layer needs beside the residual stream.
pub(super) struct Surroundings<'a> {
    /// Rotary tables of all rows.
    pub(super) rotary: &'a RotaryTable,
    /// Tiles of the queries.
    pub(super) tiles: &'a [TileTensors],
    /// The rows that go on, where that is not all of them.
    pub(super) reads: Option<&'a Tensor>,
    /// Whether the pass is to end.
    pub(super) interrupt: &'a Interrupt,
}

impl Layer {
    /// Loads the layer with number `index`.
    ///
    /// # Errors
    /// A tensor is missing or misshapen, or memory does not suffice.
    pub(super) fn load(
        loader: &Loader<'_>,
        description: &DecoderDescription,
        index: usize,
    ) -> Result<Self, ModelError> {
        use LayerWeight as W;
        let shape = description.layers[index].clone();
        let hidden = description.hidden;
        let (query, key) = (shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim);
        let linear = |weight, rows, columns| loader.linear(Weight::Layer(index, weight), [rows, columns]);
        let norm = |weight, width| loader.norm(Weight::Layer(index, weight), width);
        Ok(Self {
            epsilon: description.norm_epsilon,
            activation: description.activation,
            input_norm: norm(W::InputNorm, hidden)?,
            query: linear(W::Query, query, hidden)?,
            key: linear(W::Key, key, hidden)?,
            value: match shape.shared_key_value {
                true => None,
                false => Some(linear(W::Value, key, hidden)?),
            },
            head_norms: match shape.qk_norm {
                true => Some((
                    norm(W::QueryNorm, shape.head_dim)?,
                    norm(W::KeyNorm, shape.head_dim)?,
                )),
                false => None,
            },
            attention_output: linear(W::AttentionOutput, hidden, query)?,
            feed_forward_norm: norm(W::FeedForwardNorm, hidden)?,
            gate: linear(W::Gate, shape.intermediate, hidden)?,
            up: linear(W::Up, shape.intermediate, hidden)?,
            down: linear(W::Down, hidden, shape.intermediate)?,
            post_norms: match shape.post_norms {
                true => Some((
                    norm(W::PostAttentionNorm, hidden)?,
                    norm(W::PostFeedForwardNorm, hidden)?,
                )),
                false => None,
            },
            output_scale: match shape.output_scale {
                true => Some(loader.vector(Weight::Layer(index, W::OutputScale), 1)?),
                false => None,
            },
            shape,
        })
    }

    /// The residual stream `[rows, hidden]` after this layer; only the rows of `reads` where those are given.
    ///
    /// # Errors
    /// The engine failed, or its end was asked for.
    pub(super) fn forward(&self, stream: Tensor, around: &Surroundings<'_>) -> Result<Tensor, ModelError> {
        let attended = self.attention(&stream, around)?;
        let stream = match around.reads {
            Some(reads) => stream.f_index_select(0, reads)?,
            None => stream,
        };
        let projected = self.attention_output.apply(&attended)?;
        let (attention_norm, feed_forward_norm) = match &self.post_norms {
            Some((first, second)) => (Some(first), Some(second)),
            None => (None, None),
        };
        let middle = stream.f_add(&self.normed(projected, attention_norm)?)?;
        drop(stream);
        let rows = middle.size2()?.0;
        let mut parts = Vec::new();
        for first in (0..rows).step_by(FEED_FORWARD_ROWS as usize) {
            if around.interrupt.is_asked() {
                return Err(ModelError::Interrupted);
            }
            let part = middle.f_narrow(0, first, FEED_FORWARD_ROWS.min(rows - first))?;
            let fed = self.normed(self.feed_forward(&part)?, feed_forward_norm)?;
            let sum = part.f_add(&fed)?;
            parts.push(match &self.output_scale {
                Some(scale) => sum.f_mul(scale)?,
                None => sum,
            });
        }
        Ok(Tensor::f_cat(&parts, 0)?)
    }

    fn normed(&self, x: Tensor, norm: Option<&Tensor>) -> Result<Tensor, ModelError> {
        match norm {
            Some(weight) => rms_norm(&x, Some(weight), self.epsilon),
            None => Ok(x),
        }
    }

    fn attention(&self, stream: &Tensor, around: &Surroundings<'_>) -> Result<Tensor, ModelError> {
        let shape = &self.shape;
        let (heads, kv_heads) = (shape.heads as i64, shape.kv_heads as i64);
        let dim = shape.head_dim as i64;
        let x = self
            .query
            .narrow(&rms_norm(stream, Some(&self.input_norm), self.epsilon)?)?;
        let key = self.key.apply_narrowed(&x)?.f_reshape([-1, kv_heads, dim])?;
        let value = match &self.value {
            Some(value) => value.apply_narrowed(&x)?.f_reshape([-1, kv_heads, dim])?,
            // Nothing below changes a tensor in place.
            None => key.shallow_clone(),
        };
        let (x, rotary) = match around.reads {
            Some(reads) => (x.f_index_select(0, reads)?, Some(around.rotary.select(reads)?)),
            None => (x, None),
        };
        let query = self.query.apply_narrowed(&x)?.f_reshape([-1, heads, dim])?;
        drop(x);
        let (query_norm, key_norm) = match &self.head_norms {
            Some((query, key)) => (Some(query), Some(key)),
            None => (None, None),
        };
        let query = rotary
            .as_ref()
            .unwrap_or(around.rotary)
            .rotate(&self.normed(query, query_norm)?)?;
        let key = around.rotary.rotate(&self.normed(key, key_norm)?)?;
        let value = match shape.value_norm {
            true => rms_norm(&value, None, self.epsilon)?,
            false => value,
        };
        attend(
            &query,
            &key,
            &value,
            shape.attention_scale,
            around.tiles,
            around.interrupt,
        )
    }

    fn feed_forward(&self, x: &Tensor) -> Result<Tensor, ModelError> {
        let x = self
            .gate
            .narrow(&rms_norm(x, Some(&self.feed_forward_norm), self.epsilon)?)?;
        let gate = self.gate.apply_narrowed(&x)?;
        let mut gate = match self.activation {
            Activation::Silu => gate.f_silu()?,
            Activation::GeluTanh => gate.f_gelu("tanh")?,
        };
        gate = gate.f_mul_(&self.up.apply_narrowed(&x)?)?;
        self.down.apply(&gate)
    }
}
