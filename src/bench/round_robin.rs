//! Several engines on the same prompts in turn, so that the drift of a shared machine falls on all alike.

use std::time::{Duration, Instant};

use assize_models::{Backbone, PackedBatch, TokenId};

use super::BenchError;
use super::prompts::{fixed_tokens, last_position};

/// An engine that runs one prompt up to its last position.
pub trait Runner {
    /// Lays out a prompt; not timed.
    ///
    /// # Errors
    /// The prompt cannot be run.
    fn prepare(&mut self, tokens: &[TokenId]) -> Result<(), BenchError>;

    /// Runs what was laid out, to the end.
    ///
    /// # Errors
    /// The engine fails.
    fn run(&mut self) -> Result<(), BenchError>;
}

/// An engine of this project as a [`Runner`].
pub struct BackboneRunner<'b> {
    backbone: &'b dyn Backbone,
    batch: PackedBatch,
}

impl<'b> BackboneRunner<'b> {
    /// Runs prompts on `backbone`.
    pub fn new(backbone: &'b dyn Backbone) -> Self {
        Self {
            backbone,
            batch: PackedBatch::new(),
        }
    }
}

impl Runner for BackboneRunner<'_> {
    fn prepare(&mut self, tokens: &[TokenId]) -> Result<(), BenchError> {
        self.batch = last_position(tokens)?;
        Ok(())
    }

    fn run(&mut self) -> Result<(), BenchError> {
        self.backbone.forward(&self.batch)?;
        Ok(())
    }
}

/// Pause before each engine's turn: the worker threads of the one before stop spinning.
const PAUSE: Duration = Duration::from_millis(50);
/// Tokens of the untimed run that wakes an engine's threads and caches before its timed one.
const WARM_UP: usize = 256;

/// Times of every runner, in nanoseconds: `[runner][round]`. In each round every runner has one turn (a pause, an
/// untimed run of at most 256 tokens, a timed run of `n_prompt`); the one that starts changes from round to round.
///
/// # Errors
/// A runner fails.
pub fn round_robin(
    runners: &mut [&mut dyn Runner],
    vocabulary: usize,
    n_prompt: usize,
    rounds: usize,
    progress: impl Fn(),
) -> Result<Vec<Vec<u64>>, BenchError> {
    let mut times = vec![Vec::with_capacity(rounds); runners.len()];
    let count = runners.len().max(1);
    for round in 0..rounds {
        // Another prompt in every round, the same one for every runner.
        let tokens = fixed_tokens(vocabulary, n_prompt, (n_prompt * 1000 + round) as u64);
        let warm_up = tokens.get(..n_prompt.min(WARM_UP)).unwrap_or(&tokens);
        for turn in 0..runners.len() {
            let place = (turn + round) % count;
            let (Some(runner), Some(times)) = (runners.get_mut(place), times.get_mut(place)) else {
                continue;
            };
            std::thread::sleep(PAUSE);
            runner.prepare(warm_up)?;
            runner.run()?;
            runner.prepare(&tokens)?;
            let start = Instant::now();
            runner.run()?;
            times.push(start.elapsed().as_nanos() as u64);
            progress();
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Counts {
        prepared: Vec<Vec<TokenId>>,
        runs: usize,
    }

    impl Runner for Counts {
        fn prepare(&mut self, tokens: &[TokenId]) -> Result<(), BenchError> {
            self.prepared.push(tokens.to_vec());
            Ok(())
        }
        fn run(&mut self) -> Result<(), BenchError> {
            self.runs += 1;
            Ok(())
        }
    }

    #[test]
    fn every_runner_sees_the_same_prompts() {
        let (mut a, mut b) = (Counts::default(), Counts::default());
        let times = round_robin(&mut [&mut a, &mut b], 100, 300, 2, || ()).unwrap();
        assert_eq!(times.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        assert_eq!((a.runs, b.runs), (4, 4));
        assert_eq!(a.prepared, b.prepared);
        let lengths: Vec<_> = a.prepared.iter().map(Vec::len).collect();
        assert_eq!(lengths, [256, 300, 256, 300]);
        assert_ne!(a.prepared[1], a.prepared[3]);
    }
}
