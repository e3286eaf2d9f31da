//! The output matrix: logits of hidden states and their log-normaliser, in float32 whatever the matrix is stored in.

use tch::{Device, Kind, Tensor};

use super::decoder::{Decoder, integers};
use super::loader::Loader;
use crate::{DecoderDescription, ModelError, TokenId, Weight};

/// Tokens whose rows are widened to float32 at once.
const TOKENS: i64 = 8192;
/// Hidden states that are multiplied with them at once.
const STATES: i64 = 256;

/// The output matrix, which may be the embedding matrix.
pub(super) struct OutputHead {
    device: Device,
    /// `[vocabulary, hidden]`, in its stored type.
    matrix: Tensor,
    softcap: Option<f64>,
}

impl OutputHead {
    /// Loads the matrix where it is not the embedding.
    ///
    /// # Errors
    /// The tensor is missing or misshapen, or memory does not suffice.
    pub(super) fn load(
        loader: &Loader<'_>,
        description: &DecoderDescription,
        decoder: &Decoder,
    ) -> Result<Self, ModelError> {
        let matrix = match description.tied_output {
            true => decoder.embedding(),
            false => loader.rows(Weight::Output, [description.vocabulary, description.hidden])?,
        };
        Ok(Self {
            device: loader.device(),
            matrix,
            softcap: description.logit_softcap.map(f64::from),
        })
    }

    fn capped(&self, logits: Tensor) -> Result<Tensor, ModelError> {
        match self.softcap {
            Some(cap) => Ok(logits.f_div_scalar(cap)?.f_tanh()?.f_mul_scalar(cap)?),
            None => Ok(logits),
        }
    }

    /// Logits of some tokens for one hidden state, summed in float64 so that a logit does not depend on what else was
    /// asked.
    pub(super) fn logits_of(&self, hidden: &[f32], tokens: &[TokenId]) -> Result<Tensor, ModelError> {
        let hidden = Tensor::f_from_slice(hidden)?
            .f_to_device(self.device)?
            .f_to_kind(Kind::Double)?;
        let mut parts = Vec::new();
        for tokens in tokens.chunks(TOKENS as usize) {
            let rows = self.matrix.f_index_select(0, &integers(tokens, self.device)?)?;
            let logits = rows.f_to_kind(Kind::Double)?.f_mv(&hidden)?;
            parts.push(self.capped(logits.f_to_kind(Kind::Float)?)?);
        }
        Ok(Tensor::f_cat(&parts, 0)?)
    }

    /// Calls `sink` for every run of the vocabulary with the logits `[rows, tokens]` of `hidden`.
    fn each_run(
        &self,
        hidden: &Tensor,
        mut sink: impl FnMut(Tensor) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        let vocabulary = self.matrix.size2()?.0;
        for first in (0..vocabulary).step_by(TOKENS as usize) {
            let run = self
                .matrix
                .f_narrow(0, first, TOKENS.min(vocabulary - first))?
                .f_to_kind(Kind::Float)?;
            sink(self.capped(hidden.f_linear(&run, None::<&Tensor>)?)?)?;
        }
        Ok(())
    }

    fn states(&self, hidden: &[f32]) -> Result<Vec<Tensor>, ModelError> {
        let width = self.matrix.size2()?.1;
        let states = Tensor::f_from_slice(hidden)?
            .f_reshape([-1, width])?
            .f_to_device(self.device)?;
        Ok(states.f_split(STATES, 0)?)
    }

    /// All logits, `[rows, vocabulary]`.
    pub(super) fn logits(&self, hidden: &[f32]) -> Result<Tensor, ModelError> {
        let mut rows = Vec::new();
        for states in self.states(hidden)? {
            let mut runs = Vec::new();
            self.each_run(&states, |logits| {
                runs.push(logits);
                Ok(())
            })?;
            rows.push(Tensor::f_cat(&runs, 1)?);
        }
        Ok(Tensor::f_cat(&rows, 0)?)
    }

    /// log sum exp over the vocabulary, `[rows]`.
    pub(super) fn log_normalizers(&self, hidden: &[f32]) -> Result<Tensor, ModelError> {
        let mut rows = Vec::new();
        for states in self.states(hidden)? {
            let mut runs = Vec::new();
            self.each_run(&states, |logits| {
                runs.push(logits.f_to_kind(Kind::Double)?.f_logsumexp(&[1i64][..], false)?);
                Ok(())
            })?;
            rows.push(Tensor::f_stack(&runs, 1)?.f_logsumexp(&[1i64][..], false)?);
        }
        Ok(Tensor::f_cat(&rows, 0)?)
    }
}
