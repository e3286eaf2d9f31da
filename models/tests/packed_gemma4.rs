//! Pictures and sound in packed batches: questions behind one illustrated state and requests side by side equal separate
//! passes, under both rules of who sees whom within a picture.

// A test that cannot read its own files must stop there.
#![allow(clippy::expect_used)]

mod gemma4;
mod golden_values;

use assize_models::engines::Engine;
use assize_models::{Backbone, PackedBatch, Part, Precision, SegmentIndex, TokenId};
use gemma4::{Case, STYLES, checkpoint};
use golden_values::{gap, load, on_every_engine, rows_of};

on_every_engine!(
    questions_behind_an_illustrated_state_equal_separate_passes,
    pictures_in_questions_equal_separate_passes,
    what_shares_a_batch_does_not_matter,
    the_pictures_of_others_are_invisible,
    another_picture_gives_other_numbers,
);

/// Bound between two ways to compute the same hidden state in float32, over the row's root mean square.
const SAME: f32 = 1e-5;

const QUESTIONS: [&[TokenId]; 3] = [&[481, 10, 480, 33, 47], &[90, 12, 7, 7, 300, 41, 481], &[5]];

fn push(batch: &mut PackedBatch, parent: Option<SegmentIndex>, parts: &[Part<'_>]) -> SegmentIndex {
    let segment = batch.push_parts(parent, parts).expect("a segment");
    batch.read_last(segment).expect("a read");
    segment
}

fn alone(backbone: &dyn Backbone, parts: &[Part<'_>]) -> Vec<f32> {
    let mut batch = PackedBatch::new();
    push(&mut batch, None, parts);
    backbone.forward(&batch).expect("a pass").values().to_vec()
}

fn questions_behind_an_illustrated_state_equal_separate_passes(engine: Engine) {
    for style in STYLES {
        let backbone = load(engine, &checkpoint().with_mask_style(style), Precision::Float32);
        for name in [
            "image_70",
            "image_280",
            "two_images_70",
            "audio",
            "mixed",
            "video",
        ] {
            let case = Case::open(name);
            let state = case.parts();
            let mut batch = PackedBatch::new();
            let root = push(&mut batch, None, &state);
            for question in QUESTIONS {
                push(&mut batch, Some(root), &[Part::Tokens(question)]);
            }
            let hidden = backbone.forward(&batch).expect("a pass");
            let rows = rows_of(&hidden);
            let off = gap(rows[0], &alone(backbone.as_ref(), &state));
            assert!(off <= SAME, "{name} {style}: the state is off by {off}");
            for (row, question) in rows[1..].iter().zip(QUESTIONS) {
                let mut path = state.clone();
                path.push(Part::Tokens(question));
                let off = gap(row, &alone(backbone.as_ref(), &path));
                assert!(
                    off <= SAME,
                    "{name} {style}: a question of {} tokens is off by {off}",
                    question.len()
                );
            }
        }
    }
}

/// A picture in a question behind a state of text and one with another picture.
fn pictures_in_questions_equal_separate_passes(engine: Engine) {
    let (first, second) = (Case::open("image_70"), Case::open("two_images_70"));
    for style in STYLES {
        let backbone = load(engine, &checkpoint().with_mask_style(style), Precision::Float32);
        for state in [Case::open("text_long"), Case::open("image_280")] {
            let mut batch = PackedBatch::new();
            let root = push(&mut batch, None, &state.parts());
            push(&mut batch, Some(root), &first.parts());
            push(&mut batch, Some(root), &second.parts());
            let hidden = backbone.forward(&batch).expect("a pass");
            for (row, question) in rows_of(&hidden)[1..].iter().zip([&first, &second]) {
                let path = [state.parts(), question.parts()].concat();
                let off = gap(row, &alone(backbone.as_ref(), &path));
                assert!(off <= SAME, "{} {style}: off by {off}", state.name);
            }
        }
    }
}

fn what_shares_a_batch_does_not_matter(engine: Engine) {
    for style in STYLES {
        let backbone = load(engine, &checkpoint().with_mask_style(style), Precision::Float32);
        let mut requests: Vec<Case> = gemma4::CASES.into_iter().map(Case::open).collect();
        let separate: Vec<Vec<f32>> = requests
            .iter()
            .map(|case| alone(backbone.as_ref(), &case.parts()))
            .collect();
        for turn in [0, 4] {
            requests.rotate_left(turn);
            let mut batch = PackedBatch::new();
            for case in &requests {
                push(&mut batch, None, &case.parts());
            }
            let hidden = backbone.forward(&batch).expect("a pass");
            for (index, row) in rows_of(&hidden).iter().enumerate() {
                let off = gap(row, &separate[(index + turn) % separate.len()]);
                assert!(off <= SAME, "{} {style}: off by {off}", requests[index].name);
            }
        }
    }
}

/// The picture of another request, or of another question, may be anything.
fn the_pictures_of_others_are_invisible(engine: Engine) {
    let backbone = load(engine, &checkpoint(), Precision::Float32);
    let (state, question) = (Case::open("image_70"), Case::open("audio"));
    let run = |other: &Case| {
        let mut batch = PackedBatch::new();
        push(&mut batch, None, &other.parts());
        let root = push(&mut batch, None, &state.parts());
        push(&mut batch, Some(root), &other.parts());
        push(&mut batch, Some(root), &question.parts());
        let hidden = backbone.forward(&batch).expect("a pass");
        rows_of(&hidden)[3].to_vec()
    };
    let off = gap(&run(&Case::open("two_images_70")), &run(&Case::open("mixed")));
    // The two batches are of different lengths, and libtorch's sums are taken in another order for another number of rows.
    let bound = match engine {
        Engine::Onnx => 1e-6,
        Engine::Torch => SAME,
    };
    assert!(off <= bound, "another's picture moves the result by {off}");
}

fn another_picture_gives_other_numbers(engine: Engine) {
    let backbone = load(engine, &checkpoint(), Precision::Float32);
    let (state, other) = (Case::open("image_70"), Case::open("two_images_70"));
    let mut exchanged = state.parts();
    let place = exchanged
        .iter()
        .position(|part| matches!(part, Part::Medium { .. }))
        .expect("a picture");
    let replacement = other
        .parts()
        .into_iter()
        .find(|part| matches!(part, Part::Medium { .. }))
        .expect("a picture");
    exchanged[place] = replacement;
    let off = gap(
        &alone(backbone.as_ref(), &exchanged),
        &alone(backbone.as_ref(), &state.parts()),
    );
    assert!(off > 0.01, "another picture moves the result by {off} only");
}

#[test]
fn int8_does_not_depend_on_the_batch() {
    let backbone = load(Engine::Onnx, &checkpoint(), Precision::Int8);
    let state = Case::open("mixed");
    let mut batch = PackedBatch::new();
    let root = push(&mut batch, None, &state.parts());
    push(&mut batch, Some(root), &[Part::Tokens(QUESTIONS[1])]);
    let hidden = backbone.forward(&batch).expect("a pass");
    let path = [state.parts(), vec![Part::Tokens(QUESTIONS[1])]].concat();
    let off = gap(rows_of(&hidden)[1], &alone(backbone.as_ref(), &path));
    assert!(off <= 1e-3, "off by {off}");
}
