//! Which tensors a decoder has, and their shapes.

use crate::{DecoderDescription, LayerWeight, MediaWeight, Weight};

/// Every tensor that `description` asks for with its `[rows, columns]`; vectors are `[1, width]`.
pub fn weight_shapes(description: &DecoderDescription) -> Vec<(Weight, [usize; 2])> {
    let hidden = description.hidden;
    let mut shapes = vec![
        (Weight::Embedding, [description.vocabulary, hidden]),
        (Weight::FinalNorm, [1, hidden]),
    ];
    if !description.tied_output {
        shapes.push((Weight::Output, [description.vocabulary, hidden]));
    }
    for (index, layer) in description.layers.iter().enumerate() {
        let query = layer.heads * layer.head_dim;
        let key = layer.kv_heads * layer.head_dim;
        let mut push = |weight, shape| shapes.push((Weight::Layer(index, weight), shape));
        push(LayerWeight::InputNorm, [1, hidden]);
        push(LayerWeight::Query, [query, hidden]);
        push(LayerWeight::Key, [key, hidden]);
        if !layer.shared_key_value {
            push(LayerWeight::Value, [key, hidden]);
        }
        push(LayerWeight::AttentionOutput, [hidden, query]);
        if layer.qk_norm {
            push(LayerWeight::QueryNorm, [1, layer.head_dim]);
            push(LayerWeight::KeyNorm, [1, layer.head_dim]);
        }
        push(LayerWeight::FeedForwardNorm, [1, hidden]);
        push(LayerWeight::Gate, [layer.intermediate, hidden]);
        push(LayerWeight::Up, [layer.intermediate, hidden]);
        push(LayerWeight::Down, [hidden, layer.intermediate]);
        if layer.post_norms {
            push(LayerWeight::PostAttentionNorm, [1, hidden]);
            push(LayerWeight::PostFeedForwardNorm, [1, hidden]);
        }
        if layer.output_scale {
            push(LayerWeight::OutputScale, [1, 1]);
        }
    }
    if let Some(media) = &description.media {
        let mut push = |weight, shape| shapes.push((Weight::Media(weight), shape));
        if let Some(vision) = &media.vision {
            let (patch, width) = (vision.patch_width(), vision.width);
            push(MediaWeight::PatchNorm, [1, patch]);
            push(MediaWeight::PatchNormBias, [1, patch]);
            push(MediaWeight::Patch, [width, patch]);
            push(MediaWeight::PatchBias, [1, width]);
            push(MediaWeight::ProjectedNorm, [1, width]);
            push(MediaWeight::ProjectedNormBias, [1, width]);
            push(MediaWeight::Positions, [2 * vision.positions, width]);
            push(MediaWeight::PositionNorm, [1, width]);
            push(MediaWeight::PositionNormBias, [1, width]);
            push(MediaWeight::Picture, [hidden, width]);
        }
        if let Some(audio) = &media.audio {
            push(MediaWeight::Sound, [hidden, audio.frame]);
        }
    }
    shapes
}
