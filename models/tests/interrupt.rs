//! A pass that is ended early ends soon, and leaves nothing behind that a later pass could read.

// A test that cannot read its own files must stop there.
#![allow(clippy::expect_used)]

mod golden_values;

use std::time::{Duration, Instant};

use assize_models::engines::Engine;
use assize_models::{Interrupt, ModelError, PackedBatch, Precision};
use golden_values::{alone, default_model, load, on_every_engine, precisions, tiny};

on_every_engine!(
    a_pass_that_nobody_wants_does_not_start,
    a_long_pass_ends_soon_and_answers_stay_the_same_to_the_bit,
);

fn batch(tokens: u32) -> PackedBatch {
    let ids: Vec<u32> = (0..tokens).map(|id| 5 + id % 200).collect();
    let mut batch = PackedBatch::new();
    let segment = batch.push_segment(None, &ids).expect("a segment");
    batch.read_last(segment).expect("a read");
    batch
}

fn a_pass_that_nobody_wants_does_not_start(engine: Engine) {
    let backbone = tiny(engine, "tiny_llama", Precision::Float32);
    let expected = backbone.forward(&batch(20)).expect("a pass");
    let interrupt = Interrupt::default();
    interrupt.ask();
    let found = backbone.forward_unless(&batch(20), &interrupt);
    assert!(matches!(found, Err(ModelError::Interrupted)), "{found:?}");
    let found = backbone.forward_unless(&batch(20), &Interrupt::default());
    assert_eq!(found.expect("a pass"), expected);
}

fn a_long_pass_ends_soon_and_answers_stay_the_same_to_the_bit(engine: Engine) {
    let Some(checkpoint) = default_model("a_long_pass_ends_soon") else {
        return;
    };
    for precision in precisions(engine) {
        let backbone = load(engine, &checkpoint, precision);
        let ids: Vec<u32> = (100..140).collect();
        let before = alone(backbone.as_ref(), &ids);
        let started = Instant::now();
        backbone.forward(&batch(512)).expect("a pass");
        // At least: the work per token grows with the tokens.
        let whole = started.elapsed() * 8;
        for part in [10, 4] {
            let interrupt = Interrupt::default();
            let started = Instant::now();
            let found = std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(whole / part);
                    interrupt.ask();
                });
                backbone.forward_unless(&batch(4096), &interrupt)
            });
            let took = started.elapsed();
            assert!(matches!(found, Err(ModelError::Interrupted)), "{found:?}");
            assert!(
                took < whole / part + whole / 3 + Duration::from_millis(50),
                "{precision}: {took:?} of at least {whole:?}"
            );
            assert_eq!(alone(backbone.as_ref(), &ids), before, "{precision}");
        }
    }
}
