//! Checkpoints of random weights with the layers of the 12B Gemma 4 Unified, for measurements of speed and memory.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::BenchError;

/// Width of the residual stream.
const HIDDEN: usize = 3840;
/// Width of the feed-forward block.
const INTERMEDIATE: usize = 15_360;
/// Query heads.
const HEADS: usize = 16;
/// Width of a head, and key heads, of layers with a window.
const SLIDING: (usize, usize) = (256, 8);
/// The same of layers that see everything, whose values are their keys.
const FULL: (usize, usize) = (512, 1);
/// Keys that a layer with a window sees.
const WINDOW: usize = 1024;
/// Numbers of a patch and of a frame of sound.
const MEDIA: (usize, usize) = (6912, 640);
/// Positions of the vision embedder, along each side.
const POSITIONS: usize = 1120;
/// Every n-th layer, and the last one, sees everything.
const PATTERN: usize = 6;

/// What to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomCheckpoint {
    /// Decoder layers.
    pub layers: usize,
    /// Rows of the embedding matrix.
    pub vocabulary: usize,
}

impl RandomCheckpoint {
    /// Whether the n-th layer has a window.
    pub fn windowed(&self, layer: usize) -> bool {
        !(layer + 1).is_multiple_of(PATTERN) && layer + 1 != self.layers
    }

    /// Writes `config.json`, `tokenizer.json` and bf16 weights into `folder`; the same on every machine. The tokenizer is
    /// a stand-in of one word.
    ///
    /// # Errors
    /// The vocabulary has no room for the placeholders, or a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), BenchError> {
        if self.vocabulary < 16 || self.layers == 0 {
            return Err(BenchError::Argument {
                field: "size of the random checkpoint",
                value: format!("{} layers and {} tokens", self.layers, self.vocabulary),
                remedy: "it needs at least 1 layer and 16 tokens".into(),
            });
        }
        let io = |source| BenchError::Io {
            path: folder.to_path_buf(),
            source,
        };
        let text = |value: Value| value.to_string();
        std::fs::create_dir_all(folder).map_err(io)?;
        std::fs::write(folder.join("config.json"), text(self.config())).map_err(io)?;
        let tokenizer = json!({
            "version": "1.0",
            "added_tokens": [],
            "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
        });
        std::fs::write(folder.join("tokenizer.json"), text(tokenizer)).map_err(io)?;
        let file = File::create(folder.join("model.safetensors")).map_err(io)?;
        self.weights(BufWriter::with_capacity(1 << 20, file)).map_err(io)
    }

    fn config(&self) -> Value {
        let kinds: Vec<&str> = (0..self.layers)
            .map(|layer| match self.windowed(layer) {
                true => "sliding_attention",
                false => "full_attention",
            })
            .collect();
        // Placeholders are the last tokens, whatever the vocabulary.
        let token = |place: usize| self.vocabulary - place;
        json!({
            "model_type": "gemma4_unified",
            "tie_word_embeddings": true,
            "boi_token_id": token(1), "eoi_token_id": token(2), "image_token_id": token(3), "audio_token_id": token(4),
            "video_token_id": token(5), "boa_token_id": token(6), "eoa_token_index": token(7),
            "text_config": {
                "model_type": "gemma4_unified_text",
                "vocab_size": self.vocabulary, "hidden_size": HIDDEN, "intermediate_size": INTERMEDIATE,
                "num_hidden_layers": self.layers, "num_attention_heads": HEADS, "layer_types": kinds,
                "head_dim": SLIDING.0, "num_key_value_heads": SLIDING.1,
                "global_head_dim": FULL.0, "num_global_key_value_heads": FULL.1,
                "attention_k_eq_v": true, "attention_bias": false, "sliding_window": WINDOW, "rms_norm_eps": 1e-6,
                "hidden_activation": "gelu_pytorch_tanh", "final_logit_softcapping": 30.0,
                "tie_word_embeddings": true, "use_bidirectional_attention": "vision",
                "max_position_embeddings": 262_144,
                "rope_parameters": {
                    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
                    "full_attention": {"rope_type": "proportional", "rope_theta": 1e6, "partial_rotary_factor": 0.25},
                },
            },
            "vision_config": {
                "model_type": "gemma4_unified_vision", "patch_size": 16, "pooling_kernel_size": 3,
                "mm_embed_dim": HIDDEN, "mm_posemb_size": POSITIONS, "rms_norm_eps": 1e-6,
            },
            "audio_config": {"model_type": "gemma4_unified_audio", "audio_embed_dim": MEDIA.1, "rms_norm_eps": 1e-6},
        })
    }

    /// Name and shape of every tensor, as the real checkpoint calls them.
    fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let mut tensors = vec![
            (
                "model.language_model.embed_tokens.weight".to_owned(),
                vec![self.vocabulary, HIDDEN],
            ),
            ("model.language_model.norm.weight".to_owned(), vec![HIDDEN]),
        ];
        for layer in 0..self.layers {
            let windowed = self.windowed(layer);
            let (head, key_heads) = if windowed { SLIDING } else { FULL };
            let mut push = |name: &str, shape: Vec<usize>| {
                tensors.push((format!("model.language_model.layers.{layer}.{name}"), shape));
            };
            for norm in [
                "input_layernorm",
                "post_attention_layernorm",
                "pre_feedforward_layernorm",
                "post_feedforward_layernorm",
            ] {
                push(&format!("{norm}.weight"), vec![HIDDEN]);
            }
            push("layer_scalar", vec![1]);
            push("self_attn.q_proj.weight", vec![HEADS * head, HIDDEN]);
            push("self_attn.k_proj.weight", vec![key_heads * head, HIDDEN]);
            if windowed {
                push("self_attn.v_proj.weight", vec![key_heads * head, HIDDEN]);
            }
            push("self_attn.o_proj.weight", vec![HIDDEN, HEADS * head]);
            push("self_attn.q_norm.weight", vec![head]);
            push("self_attn.k_norm.weight", vec![head]);
            push("mlp.gate_proj.weight", vec![INTERMEDIATE, HIDDEN]);
            push("mlp.up_proj.weight", vec![INTERMEDIATE, HIDDEN]);
            push("mlp.down_proj.weight", vec![HIDDEN, INTERMEDIATE]);
        }
        let media = [
            ("vision_embedder.patch_ln1.weight", vec![MEDIA.0]),
            ("vision_embedder.patch_ln1.bias", vec![MEDIA.0]),
            ("vision_embedder.patch_dense.weight", vec![HIDDEN, MEDIA.0]),
            ("vision_embedder.patch_dense.bias", vec![HIDDEN]),
            ("vision_embedder.patch_ln2.weight", vec![HIDDEN]),
            ("vision_embedder.patch_ln2.bias", vec![HIDDEN]),
            ("vision_embedder.pos_norm.weight", vec![HIDDEN]),
            ("vision_embedder.pos_norm.bias", vec![HIDDEN]),
            ("vision_embedder.pos_embedding", vec![POSITIONS, 2, HIDDEN]),
            ("embed_vision.embedding_projection.weight", vec![HIDDEN, HIDDEN]),
            ("embed_audio.embedding_projection.weight", vec![HIDDEN, MEDIA.1]),
        ];
        tensors.extend(media.map(|(name, shape)| (format!("model.{name}"), shape)));
        tensors
    }

    /// A safetensors file, tensor by tensor, so that no more than one run of numbers is in memory.
    fn weights(&self, mut to: impl Write) -> std::io::Result<()> {
        let tensors = self.tensors();
        let mut header = Map::new();
        let mut end = 0;
        for (name, shape) in &tensors {
            let start = end;
            end += 2 * shape.iter().product::<usize>();
            header.insert(
                name.clone(),
                json!({"dtype": "BF16", "shape": shape, "data_offsets": [start, end]}),
            );
        }
        let mut header = Value::Object(header).to_string();
        // The numbers start at a multiple of eight.
        header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
        to.write_all(&(header.len() as u64).to_le_bytes())?;
        to.write_all(header.as_bytes())?;
        let mut state = 1u64;
        let mut run = Vec::new();
        for (_, shape) in &tensors {
            let mut left: usize = shape.iter().product();
            // Vectors are norms and biases, near one; matrices have a standard deviation of 0.02.
            let (middle, width) = if shape.len() == 1 {
                (1.0, 0.1)
            } else {
                (0.0, 0.0346)
            };
            while left > 0 {
                let count = left.min(1 << 16);
                run.clear();
                for _ in 0..count {
                    // The upper half of a linear congruential generator (Knuth's MMIX constants).
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    let unit = ((state >> 40) as f32 / (1u32 << 23) as f32) - 1.0;
                    // bf16 is the upper half of float32.
                    run.extend_from_slice(&(middle + width * unit).to_le_bytes()[2..]);
                }
                to.write_all(&run)?;
                left -= count;
            }
        }
        to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of the real embedding matrix.
    const FULL_VOCABULARY: usize = 262_144;
    /// Layers of the real model.
    const FULL_LAYERS: usize = 48;

    #[test]
    fn two_layers_are_one_of_each_kind_and_the_real_model_has_eight_that_see_everything() {
        let kinds = |layers| {
            let checkpoint = RandomCheckpoint {
                layers,
                vocabulary: FULL_VOCABULARY,
            };
            (0..layers)
                .map(|layer| checkpoint.windowed(layer))
                .collect::<Vec<_>>()
        };
        assert_eq!(kinds(2), [true, false]);
        let real = kinds(FULL_LAYERS);
        assert_eq!(real.iter().filter(|windowed| !**windowed).count(), 8);
        assert!(!real[5] && !real[47]);
    }

    #[test]
    fn the_real_size_has_the_parameters_of_the_12b() {
        let real = RandomCheckpoint {
            layers: FULL_LAYERS,
            vocabulary: FULL_VOCABULARY,
        };
        let numbers: usize = real
            .tensors()
            .iter()
            .map(|(_, shape)| shape.iter().product::<usize>())
            .sum();
        assert_eq!(numbers / 1_000_000, 11_959);
    }
}
