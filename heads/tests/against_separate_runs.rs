//! Scores of packed decisions against a plain computation that runs every option of every order on its own.

#![allow(clippy::unwrap_used)]

mod hash_backbone;

use std::collections::HashMap;
use std::sync::LazyLock;

use assize_heads::{HeadError, PackedDecision, QuestionScores, Readout, Reduce, SlotHead};
use assize_models::{Backbone, HiddenStates, PackedBatch, TokenId};
use assize_preprocess::prompt::{EncodedDecision, EncodedOrder, EncodedQuestion};
use hash_backbone::{HashBackbone, VOCABULARY, WIDTH};
use proptest::prelude::*;
use safetensors::Dtype;
use safetensors::tensor::TensorView;

const SUM: Readout = Readout::Text {
    reduce: Reduce::Sum,
    less_prior: 0.0,
};

/// Log probabilities over the vocabulary behind one path, run alone.
fn log_probabilities(backbone: &HashBackbone, path: &[TokenId]) -> Vec<f64> {
    let path: Vec<_> = (0..).zip(path.iter().copied()).collect();
    let hidden = HiddenStates::new(12, backbone.hidden(&path)).unwrap();
    let logits: Vec<f64> = backbone
        .logits(&hidden)
        .unwrap()
        .into_iter()
        .map(f64::from)
        .collect();
    let normalizer = logits.iter().map(|logit| logit.exp()).sum::<f64>().ln();
    logits.into_iter().map(|logit| logit - normalizer).collect()
}

/// log p of `text` behind `prompt`, one run per token.
fn log_likelihood(backbone: &HashBackbone, prompt: &[TokenId], text: &[TokenId]) -> f64 {
    (0..text.len())
        .map(|place| {
            let path = [prompt, &text[..place]].concat();
            log_probabilities(backbone, &path)[text[place] as usize]
        })
        .sum()
}

/// A head of 8 slots with arbitrary numbers.
static HEAD: LazyLock<SlotHead> = LazyLock::new(|| {
    let number = |place: usize| ((place * 37 % 23) as f32 - 11.0) / 7.0;
    let bytes = |count: usize, of: &dyn Fn(usize) -> f32| -> Vec<u8> {
        (0..count).flat_map(|place| of(place).to_le_bytes()).collect()
    };
    let tensors = [
        ("mu", vec![WIDTH], bytes(WIDTH, &number)),
        ("sd", vec![WIDTH], bytes(WIDTH, &|place| 0.5 + place as f32)),
        ("linear.weight", vec![8, WIDTH], bytes(8 * WIDTH, &number)),
        ("linear.bias", vec![8], bytes(8, &number)),
    ];
    let views: HashMap<_, _> = tensors
        .iter()
        .map(|(name, shape, bytes)| (*name, TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap()))
        .collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), safetensors::serialize(&views, None).unwrap()).unwrap();
    SlotHead::open(file.path()).unwrap()
});

/// Probabilities and option mass of one order.
fn naive_order(
    backbone: &HashBackbone,
    encoded: &EncodedDecision,
    order: &EncodedOrder,
    readout: &Readout,
) -> (Vec<f64>, f64) {
    let prompt = [&encoded.state[..], &order.tokens].concat();
    let (scores, mass): (Vec<f64>, f64) = match readout {
        Readout::Slot => {
            let places: Vec<(u32, TokenId)> = (0..).zip(prompt.iter().copied()).collect();
            let slots = HEAD.scores(&backbone.hidden(&places), order.order.len()).unwrap();
            let slot_of = |option| order.order.iter().position(|shown| *shown == option).unwrap();
            let scores = (0..order.order.len()).map(|option| f64::from(slots[slot_of(option)]));
            (scores.collect(), f64::NAN)
        }
        Readout::Label => {
            let logs = log_probabilities(backbone, &prompt);
            let of_labels: Vec<f64> = order
                .labels
                .as_ref()
                .unwrap()
                .iter()
                .map(|label| logs[*label as usize])
                .collect();
            let mass = of_labels.iter().map(|log| log.exp()).sum();
            (of_labels, mass)
        }
        Readout::Text { reduce, less_prior } => {
            let score = |prompt: &[TokenId], text: &Vec<TokenId>| {
                let sum = log_likelihood(backbone, prompt, text);
                match reduce {
                    Reduce::Sum => sum,
                    Reduce::Mean => sum / text.len() as f64,
                }
            };
            let prior = [encoded.prior_state.as_deref().unwrap_or_default(), &order.tokens].concat();
            let scores = order
                .branches
                .iter()
                .map(|text| score(&prompt, text) - f64::from(*less_prior) * score(&prior, text))
                .collect();
            let mass = order
                .branches
                .iter()
                .map(|text| log_likelihood(backbone, &prompt, text).exp())
                .sum();
            (scores, mass)
        }
    };
    (softmax(&scores), mass)
}

fn softmax(scores: &[f64]) -> Vec<f64> {
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let exponentials: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
    let total: f64 = exponentials.iter().sum();
    exponentials.into_iter().map(|value| value / total).collect()
}

fn run(
    backbone: &HashBackbone,
    encoded: &EncodedDecision,
    readout: &Readout,
) -> Result<Vec<QuestionScores>, HeadError> {
    let mut batch = PackedBatch::new();
    let packed = PackedDecision::pack(encoded, &[], readout, &mut batch)?;
    assert_eq!(batch.len(), PackedDecision::token_count(encoded, readout));
    packed.scores(backbone, Some(&HEAD), &backbone.forward(&batch)?)
}

fn has_prefix(branches: &[Vec<TokenId>]) -> bool {
    let starts = |a: usize, b: usize| a != b && branches[b].starts_with(&branches[a]);
    (0..branches.len()).any(|a| (0..branches.len()).any(|b| starts(a, b)))
}

fn check(backbone: &HashBackbone, encoded: &EncodedDecision, readout: &Readout, found: &[QuestionScores]) {
    assert_eq!(found.len(), encoded.questions.len());
    for (question, found) in encoded.questions.iter().zip(found) {
        let runs: Vec<_> = question
            .orders
            .iter()
            .map(|order| naive_order(backbone, encoded, order, readout))
            .collect();
        let count = runs.len() as f64;
        let scores: Vec<f64> = found.scores.iter().map(|score| f64::from(*score)).collect();
        assert_eq!(scores.len(), question.options);
        for (option, found) in softmax(&scores).into_iter().enumerate() {
            let expected = runs
                .iter()
                .map(|(probabilities, _)| probabilities[option])
                .sum::<f64>()
                / count;
            assert!(
                (found - expected).abs() < 2e-6,
                "option {option}: {found} is not {expected}"
            );
        }
        let undefined = match readout {
            Readout::Label => false,
            Readout::Slot => true,
            Readout::Text { .. } => question.orders.iter().any(|order| has_prefix(&order.branches)),
        };
        let mass = runs.iter().map(|(_, mass)| mass).sum::<f64>() / count;
        match found.option_mass {
            None => assert!(undefined),
            Some(found) => {
                assert!(
                    !undefined && (f64::from(found) - mass).abs() < 1e-5,
                    "mass {found} is not {mass}"
                );
            }
        }
    }
}

fn tokens(length: std::ops::Range<usize>) -> impl Strategy<Value = Vec<TokenId>> {
    prop::collection::vec(0..VOCABULARY as u32, length)
}

fn encoded_order(options: usize) -> impl Strategy<Value = EncodedOrder> {
    // Few different tokens, so that options often share their starts.
    let branch = prop::collection::vec(0_u32..3, 1..5);
    let labels = Just((0..VOCABULARY as u32).collect::<Vec<_>>()).prop_shuffle();
    let order = Just((0..options).collect::<Vec<_>>()).prop_shuffle();
    (
        tokens(1..6),
        prop::collection::vec(branch, options),
        labels,
        order,
    )
        .prop_map(move |(tokens, branches, labels, order)| EncodedOrder {
            order,
            tokens,
            labels: Some(labels[..options].to_vec()),
            branches,
        })
}

fn encoded_decision() -> impl Strategy<Value = EncodedDecision> {
    let question = (1_usize..7).prop_flat_map(|options| {
        prop::collection::vec(encoded_order(options), 1..4)
            .prop_map(move |orders| EncodedQuestion { options, orders })
    });
    (tokens(0..6), tokens(0..4), prop::collection::vec(question, 1..4)).prop_map(
        |(state, prior, questions)| EncodedDecision {
            state,
            soft_runs: Vec::new(),
            prior_state: Some(prior),
            truncated_tokens: 0,
            questions,
        },
    )
}

fn readout() -> impl Strategy<Value = Readout> {
    let text = (
        prop::sample::select(vec![Reduce::Sum, Reduce::Mean]),
        prop::sample::select(vec![0.0, 0.5, 1.0]),
    );
    prop_oneof![
        Just(Readout::Label),
        Just(Readout::Slot),
        text.prop_map(|(reduce, less_prior)| Readout::Text { reduce, less_prior }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn packed_equals_separate(first in encoded_decision(), second in encoded_decision(), readout in readout()) {
        let backbone = HashBackbone::new();
        check(&backbone, &first, &readout, &run(&backbone, &first, &readout).unwrap());
        // Behind another decision in one batch.
        let mut batch = PackedBatch::new();
        let packed = [&first, &second].map(|decision| {
            PackedDecision::pack(decision, &[], &readout, &mut batch).unwrap()
        });
        let hidden = backbone.forward(&batch).unwrap();
        for (packed, decision) in packed.iter().zip([&first, &second]) {
            check(&backbone, decision, &readout, &packed.scores(&backbone, Some(&HEAD), &hidden).unwrap());
        }
    }
}

fn example() -> EncodedDecision {
    EncodedDecision {
        state: vec![1, 2, 3],
        soft_runs: Vec::new(),
        prior_state: None,
        truncated_tokens: 0,
        questions: vec![EncodedQuestion {
            options: 2,
            orders: vec![EncodedOrder {
                order: vec![0, 1],
                tokens: vec![4, 5],
                labels: None,
                branches: vec![vec![6, 7, 8], vec![6, 9]],
            }],
        }],
    }
}

#[test]
fn shared_rows_run_once_and_last_tokens_never() {
    let mut batch = PackedBatch::new();
    PackedDecision::pack(&example(), &[], &SUM, &mut batch).unwrap();
    assert_eq!(batch.tokens(), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(batch.reads(), [4, 5, 6]);
}

#[test]
fn what_the_readout_needs_must_be_there() {
    let backbone = HashBackbone::new();
    let refused = |change: &dyn Fn(&mut EncodedDecision), readout: &Readout| {
        let mut encoded = example();
        change(&mut encoded);
        let mut batch = PackedBatch::new();
        let packed = PackedDecision::pack(&encoded, &[], readout, &mut batch);
        packed.map(|_| ()).unwrap_err().to_string()
    };
    assert!(run(&backbone, &example(), &SUM).is_ok());
    assert!(refused(&|_| {}, &Readout::Label).contains("question 0: its 2 options have no one-token labels"));
    let less_prior = Readout::Text {
        reduce: Reduce::Sum,
        less_prior: 1.0,
    };
    assert!(refused(&|_| {}, &less_prior).contains("`prior`"));
    let nan = Readout::Text {
        reduce: Reduce::Sum,
        less_prior: f32::NAN,
    };
    assert!(refused(&|_| {}, &nan).contains("less_prior"));
    assert!(
        refused(&|encoded| encoded.questions[0].orders[0].tokens.clear(), &SUM)
            .contains("the question has no tokens")
    );
    assert!(
        refused(
            &|encoded| encoded.questions[0].orders[0].branches[1].clear(),
            &SUM
        )
        .contains("option 1 has no tokens")
    );
    assert!(refused(&|encoded| encoded.questions[0].orders.clear(), &SUM).contains("no option order"));
    assert!(refused(&|encoded| encoded.questions[0].options = 3, &SUM).contains("2 branches for 3 options"));
    let wrong_labels = |encoded: &mut EncodedDecision| encoded.questions[0].orders[0].labels = Some(vec![1]);
    assert!(refused(&wrong_labels, &Readout::Label).contains("1 labels for 2 options"));
}

#[test]
fn a_slot_readout_needs_its_head() {
    let backbone = HashBackbone::new();
    let mut batch = PackedBatch::new();
    let packed = PackedDecision::pack(&example(), &[], &Readout::Slot, &mut batch).unwrap();
    let hidden = backbone.forward(&batch).unwrap();
    assert!(matches!(
        packed.scores(&backbone, None, &hidden),
        Err(HeadError::NoHead)
    ));
    let scores = packed.scores(&backbone, Some(&HEAD), &hidden).unwrap();
    assert_eq!(scores[0].option_mass, None);
}

#[test]
fn broken_numbers_are_errors() {
    for broken in [f32::NAN, f32::INFINITY, f32::MAX] {
        let mut backbone = HashBackbone::new();
        backbone.broken = Some(broken);
        let error = run(&backbone, &example(), &SUM).unwrap_err();
        assert!(
            matches!(error, HeadError::NotFinite { question: 0, .. }),
            "{error}"
        );
        let mut labelled = example();
        labelled.questions[0].orders[0].labels = Some(vec![1, 2]);
        let error = run(&backbone, &labelled, &Readout::Label).unwrap_err();
        assert!(
            matches!(error, HeadError::NotFinite { question: 0, .. }),
            "{error}"
        );
    }
}

#[test]
fn one_broken_order_is_not_averaged_away() {
    let mut backbone = HashBackbone::new();
    backbone.impossible = Some(3);
    let mut encoded = example();
    encoded.questions[0].orders[0].labels = Some(vec![1, 2]);
    let mut second = encoded.questions[0].orders[0].clone();
    second.labels = Some(vec![4, 3]);
    encoded.questions[0].orders.push(second);
    let error = run(&backbone, &encoded, &Readout::Label).unwrap_err();
    assert!(
        matches!(
            error,
            HeadError::NotFinite {
                question: 0,
                option: 1,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn hidden_states_of_another_batch_are_refused() {
    let backbone = HashBackbone::new();
    let mut batch = PackedBatch::new();
    let packed = PackedDecision::pack(&example(), &[], &SUM, &mut batch).unwrap();
    let mut other = PackedBatch::new();
    let root = other.push_segment(None, &[1]).unwrap();
    other.read_last(root).unwrap();
    let error = packed
        .scores(&backbone, None, &backbone.forward(&other).unwrap())
        .unwrap_err();
    assert!(matches!(error, HeadError::MissingRow { .. }), "{error}");
}
