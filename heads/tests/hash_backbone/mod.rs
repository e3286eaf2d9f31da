//! A backbone whose hidden state is a hash of the whole path to a row, positions included: any wrong ancestor, order or
//! position gives other numbers.

use assize_models::{
    Activation, Architecture, Backbone, DecoderDescription, EngineInfo, HiddenStates, ModelError,
    PackedBatch, Precision, TokenId,
};

pub const VOCABULARY: usize = 50;
pub const WIDTH: usize = 12;

pub struct HashBackbone {
    description: DecoderDescription,
    engine: EngineInfo,
    /// Value that replaces every hidden number, where a test wants broken ones.
    pub broken: Option<f32>,
    /// A token whose logit is minus infinity.
    pub impossible: Option<TokenId>,
}

impl HashBackbone {
    pub fn new() -> Self {
        Self {
            description: DecoderDescription {
                architecture: Architecture::Llama,
                vocabulary: VOCABULARY,
                hidden: WIDTH,
                context: 1000,
                embedding_scale: 1.0,
                norm_epsilon: 1e-5,
                norm_offset: 0.0,
                activation: Activation::Silu,
                tied_output: true,
                logit_softcap: None,
                layers: Vec::new(),
                media: None,
            },
            engine: EngineInfo {
                name: "hash",
                version: "1".into(),
                precision: Precision::Float32,
                kernels: "none".into(),
                threads: 1,
            },
            broken: None,
            impossible: None,
        }
    }

    /// The hidden state behind a path of tokens.
    pub fn hidden(&self, path: &[(u32, TokenId)]) -> Vec<f32> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for &(position, token) in path {
            state = mix(state ^ u64::from(token) ^ (u64::from(position) << 32));
        }
        (0..WIDTH as u64)
            .map(|column| self.broken.unwrap_or_else(|| unit(mix(state ^ column))))
            .collect()
    }
}

fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// From -1 to 1.
fn unit(hash: u64) -> f32 {
    ((hash >> 40) as f32 / (1_u64 << 23) as f32) - 1.0
}

fn output(token: TokenId, column: usize) -> f32 {
    3.0 * unit(mix(u64::from(token) * 1000 + column as u64))
}

fn logit(hidden: &[f32], token: TokenId) -> f32 {
    hidden
        .iter()
        .enumerate()
        .map(|(column, value)| value * output(token, column))
        .sum()
}

impl Backbone for HashBackbone {
    fn description(&self) -> &DecoderDescription {
        &self.description
    }

    fn engine(&self) -> &EngineInfo {
        &self.engine
    }

    fn weight_bytes(&self) -> u64 {
        0
    }

    fn forward(&self, batch: &PackedBatch) -> Result<HiddenStates, ModelError> {
        let positions = batch.positions();
        let mut values = Vec::new();
        for &read in batch.reads() {
            let mut rows = Vec::new();
            let mut segment = batch
                .segments()
                .iter()
                .find(|segment| (segment.start..segment.start + segment.len).contains(&read));
            let mut last = read;
            while let Some(found) = segment {
                rows.extend((found.start..=last).rev());
                segment = found.parent.map(|parent| &batch.segments()[parent.0 as usize]);
                last = segment.map_or(0, |parent| parent.start + parent.len - 1);
            }
            rows.reverse();
            let path: Vec<_> = rows
                .iter()
                .map(|row| (positions[*row as usize], batch.tokens()[*row as usize]))
                .collect();
            values.extend(self.hidden(&path));
        }
        HiddenStates::new(WIDTH, values)
    }

    fn logits_of(&self, hidden: &[f32], tokens: &[TokenId]) -> Result<Vec<f32>, ModelError> {
        let of_token = |token: &TokenId| match self.impossible {
            Some(impossible) if impossible == *token => f32::NEG_INFINITY,
            _ => logit(hidden, *token),
        };
        Ok(tokens.iter().map(of_token).collect())
    }

    fn logits(&self, hidden: &HiddenStates) -> Result<Vec<f32>, ModelError> {
        let rows = hidden.values().chunks(WIDTH);
        Ok(rows
            .flat_map(|row| (0..VOCABULARY as u32).map(|token| logit(row, token)))
            .collect())
    }

    fn log_normalizers(&self, hidden: &HiddenStates) -> Result<Vec<f32>, ModelError> {
        let logits = self.logits(hidden)?;
        Ok(logits
            .chunks(VOCABULARY)
            .map(|row| row.iter().map(|logit| f64::from(*logit).exp()).sum::<f64>().ln() as f32)
            .collect())
    }
}
