//! The whole decoder: from a packed batch to hidden states after the final norm.

use tch::{Device, Kind, Tensor};

use super::attention::{MOST_SCORES, TileTensors};
use super::embedders::Embedders;
use super::layer::{FEED_FORWARD_ROWS, Layer, Surroundings};
use super::linear::rms_norm;
use super::loader::Loader;
use super::rotary::RotaryTable;
use super::visibility::{Forest, Sight};
use crate::{DecoderDescription, Interrupt, ModelError, PackedBatch, Rope, Weight};

/// Rows of the longest batch that memory is reckoned for.
const RECKONED_ROWS: u64 = 4096;

/// Tensors of the decoder.
pub(super) struct Decoder {
    device: Device,
    /// `[vocabulary, hidden]`, in its stored type.
    embedding: Tensor,
    layers: Vec<Layer>,
    final_norm: Tensor,
    embedders: Option<Embedders>,
}

/// Bytes that a long batch takes beside the weights, at most.
pub(super) fn activation_bytes(description: &DecoderDescription) -> u64 {
    let widest = |of: &dyn Fn(&crate::LayerDescription) -> usize| {
        description.layers.iter().map(of).max().unwrap_or(0) as u64
    };
    let attention = widest(&|layer| layer.head_dim * (2 * layer.heads + 4 * layer.kv_heads));
    let feed_forward = widest(&|layer| layer.intermediate);
    // Float32: the stream, its norm and two sums; queries, keys and values plain and rotated; gate, up, product and what
    // is narrowed of them; scores and weights of a tile.
    let streams = 4 * RECKONED_ROWS * (4 * description.hidden as u64 + 2 * attention);
    let gates = 4 * FEED_FORWARD_ROWS as u64 * 4 * feed_forward;
    let scores = 4 * 3 * MOST_SCORES as u64;
    streams + gates + scores
}

/// Values that several layers share, found by what they depend on.
struct Shared<K, V>(Vec<(K, V)>);

impl<K: PartialEq + Clone, V> Shared<K, V> {
    fn get(&mut self, key: &K, make: impl FnOnce() -> Result<V, ModelError>) -> Result<&V, ModelError> {
        let index = match self.0.iter().position(|(known, _)| known == key) {
            Some(index) => index,
            None => {
                self.0.push((key.clone(), make()?));
                self.0.len() - 1
            }
        };
        Ok(&self.0[index].1)
    }
}

impl Decoder {
    /// Loads all tensors but those of the output.
    ///
    /// # Errors
    /// A tensor is missing or misshapen, or memory does not suffice.
    pub(super) fn load(loader: &Loader<'_>, description: &DecoderDescription) -> Result<Self, ModelError> {
        let hidden = description.hidden;
        Ok(Self {
            device: loader.device(),
            embedding: loader.rows(Weight::Embedding, [description.vocabulary, hidden])?,
            layers: (0..description.layers.len())
                .map(|index| Layer::load(loader, description, index))
                .collect::<Result<_, _>>()?,
            final_norm: loader.norm(Weight::FinalNorm, hidden)?,
            embedders: match &description.media {
                Some(media) => Some(Embedders::load(loader, media, hidden)?),
                None => None,
            },
        })
    }

    /// The embedding matrix; the same memory.
    pub(super) fn embedding(&self) -> Tensor {
        self.embedding.shallow_clone()
    }

    fn embedded(
        &self,
        description: &DecoderDescription,
        batch: &PackedBatch,
        interrupt: &Interrupt,
    ) -> Result<Tensor, ModelError> {
        let tokens = integers(batch.tokens(), self.device)?;
        let mut stream = self
            .embedding
            .f_index_select(0, &tokens)?
            .f_to_kind(Kind::Float)?
            .f_mul_scalar(f64::from(description.embedding_scale))?;
        if let Some(embedders) = &self.embedders {
            for (rows, soft) in embedders.soft_tokens(batch, interrupt)? {
                let rows = integers(&rows, self.device)?;
                stream = stream.f_index_copy_(0, &rows, &soft)?;
            }
        }
        Ok(stream)
    }

    /// Hidden states `[reads, hidden]` of a batch that was checked.
    ///
    /// # Errors
    /// The engine failed, or its end was asked for between two layers or parts of them.
    pub(super) fn forward(
        &self,
        description: &DecoderDescription,
        batch: &PackedBatch,
        interrupt: &Interrupt,
    ) -> Result<Tensor, ModelError> {
        let forest = Forest::of(batch);
        let positions = integers(&batch.positions(), self.device)?;
        let reads = integers(batch.reads(), self.device)?;
        let rows: Vec<u32> = (0..batch.len() as u32).collect();
        let mut stream = self.embedded(description, batch, interrupt)?;
        let mut tables: Shared<Rope, RotaryTable> = Shared(Vec::new());
        let mut tilings: Shared<(Sight, bool, usize), Vec<TileTensors>> = Shared(Vec::new());
        for (index, (layer, shape)) in self.layers.iter().zip(&description.layers).enumerate() {
            if interrupt.is_asked() {
                return Err(ModelError::Interrupted);
            }
            let last = index + 1 == self.layers.len();
            let sight = Sight {
                window: shape.window,
                picture: description.picture_sight(shape),
            };
            let cells = MOST_SCORES / shape.heads;
            let tiles = tilings.get(&(sight, last, cells), || {
                let queries = if last { batch.reads() } else { &rows };
                forest
                    .tiles(queries, sight, cells)
                    .iter()
                    .map(|tile| TileTensors::of(tile, self.device))
                    .collect()
            })?;
            let rotary = tables.get(&shape.rope, || RotaryTable::of(&shape.rope, &positions))?;
            let around = Surroundings {
                rotary,
                tiles,
                reads: last.then_some(&reads),
                interrupt,
            };
            stream = layer.forward(stream, &around)?;
        }
        rms_norm(&stream, Some(&self.final_norm), description.norm_epsilon)
    }
}

/// Indices as a tensor.
pub(super) fn integers(values: &[u32], device: Device) -> Result<Tensor, ModelError> {
    let values: Vec<i64> = values.iter().map(|value| i64::from(*value)).collect();
    Ok(Tensor::f_from_slice(&values)?.f_to_device(device)?)
}
