//! A loaded file of the peer, and a session that runs prompts on it.

use std::num::NonZeroU32;
use std::path::Path;

use assize_models::TokenId;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::context::params::LlamaContextParams;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::token::LlamaToken;

use super::super::BenchError;
use super::Peer;

/// Tokens that the peer computes at once: its own default, and best in earlier measurements.
const MICRO_BATCH: u32 = 512;

/// A loaded file.
pub struct PeerModel {
    model: LlamaModel,
    what: String,
}

impl PeerModel {
    /// Loads `path` with the peer's defaults (memory-mapped, weights repacked where it can).
    ///
    /// # Errors
    /// The peer cannot read the file.
    pub fn load(peer: &Peer, path: &Path) -> Result<Self, BenchError> {
        let what = path.display().to_string();
        let model = LlamaModel::load_from_file(peer.backend(), path, &LlamaModelParams::default()).map_err(
            |error| BenchError::Peer {
                what: what.clone(),
                reason: error.to_string(),
            },
        )?;
        Ok(Self { model, what })
    }

    /// Bytes of weights.
    pub fn size(&self) -> u64 {
        self.model.size()
    }

    /// A session for prompts of at most `longest` tokens, the same number of threads for everything.
    ///
    /// # Errors
    /// The peer refuses the settings.
    pub fn session<'m>(
        &'m self,
        peer: &Peer,
        longest: usize,
        threads: usize,
        flash_attention: bool,
    ) -> Result<PeerSession<'m>, BenchError> {
        let error = |reason: String| BenchError::Peer {
            what: self.what.clone(),
            reason,
        };
        let context = u32::try_from(longest.max(MICRO_BATCH as usize))
            .map_err(|_| error(format!("a prompt of {longest} tokens is too long")))?;
        let threads = i32::try_from(threads).map_err(|_| error(format!("{threads} threads")))?;
        let parameters = LlamaContextParams::default()
            .with_n_ctx(NonZeroU32::new(context))
            .with_n_batch(context)
            .with_n_ubatch(MICRO_BATCH)
            .with_n_seq_max(1)
            .with_n_threads(threads)
            .with_n_threads_batch(threads)
            .with_flash_attention_policy(if flash_attention {
                llama_cpp_sys_2::LLAMA_FLASH_ATTN_TYPE_ENABLED
            } else {
                llama_cpp_sys_2::LLAMA_FLASH_ATTN_TYPE_DISABLED
            });
        let context = self
            .model
            .new_context(peer.backend(), parameters)
            .map_err(|failure| error(failure.to_string()))?;
        Ok(PeerSession {
            context,
            batch: LlamaBatch::new(longest.max(1), 1),
            what: self.what.clone(),
            last: None,
        })
    }
}

/// A context of the peer with nothing in its cache at the start of every prompt.
pub struct PeerSession<'m> {
    context: LlamaContext<'m>,
    batch: LlamaBatch<'static>,
    what: String,
    /// Row of the last prompt's last token.
    last: Option<i32>,
}

impl PeerSession<'_> {
    /// Empties the cache and lays out `tokens`; logits are asked of the last one only. Not to be timed.
    ///
    /// # Errors
    /// There are no tokens, more than the session was made for, or one that is no token id.
    pub fn prepare(&mut self, tokens: &[TokenId]) -> Result<(), BenchError> {
        let what = self.what.clone();
        let error = |reason: String| BenchError::Peer {
            what: what.clone(),
            reason,
        };
        self.context.clear_kv_cache();
        self.batch.clear();
        self.last = None;
        for (position, token) in tokens.iter().enumerate() {
            let is_last = position + 1 == tokens.len();
            let id = i32::try_from(*token).map_err(|_| error(format!("token {token}")))?;
            let place = i32::try_from(position).map_err(|_| error(format!("position {position}")))?;
            self.batch
                .add(LlamaToken(id), place, &[0], is_last)
                .map_err(|failure| error(failure.to_string()))?;
            if is_last {
                self.last = Some(place);
            }
        }
        if self.last.is_none() {
            return Err(error("a prompt has no tokens".into()));
        }
        Ok(())
    }

    /// Runs what [`Self::prepare`] laid out, to the end of its computation.
    ///
    /// # Errors
    /// The peer fails.
    pub fn run(&mut self) -> Result<(), BenchError> {
        self.context
            .decode(&mut self.batch)
            .map_err(|failure| BenchError::Peer {
                what: self.what.clone(),
                reason: failure.to_string(),
            })?;
        self.context.synchronize();
        Ok(())
    }

    /// Logits of the last token over the whole vocabulary, after [`Self::run`].
    ///
    /// # Errors
    /// Nothing was run.
    pub fn logits(&self) -> Result<&[f32], BenchError> {
        match self.last {
            Some(last) => Ok(self.context.get_logits_ith(last)),
            None => Err(BenchError::Peer {
                what: self.what.clone(),
                reason: "no prompt was run".into(),
            }),
        }
    }
}
