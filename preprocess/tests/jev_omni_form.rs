//! The form of Jev-Omni: ids of the whole string against the reference tokenizer, media places, and shared states.

#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use assize_preprocess::decision::{Content, Decision, Question, QuestionOption, Shape};
use assize_preprocess::prompt::{
    EncodeOptions, EncodedDecision, FrameOutline, MediumOutline, PromptForm, SoftRun, Truncate,
};
use assize_preprocess::{Excess, PromptError, PromptTokenizer, TokenId};
use proptest::prelude::*;
use tokenizers::Tokenizer;

static TOKENIZERS: LazyLock<(PromptTokenizer, Tokenizer)> = LazyLock::new(|| {
    let path = format!(
        "{}/../tests/golden/gemma4_unified_tiny/checkpoint/tokenizer.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let json = std::fs::read(path).unwrap();
    (
        PromptTokenizer::from_json(&json).unwrap(),
        Tokenizer::from_bytes(&json).unwrap(),
    )
});

const ROOMY: EncodeOptions = EncodeOptions {
    context: 100_000,
    truncate: Truncate::Error,
    order_averages: 1,
    prior: false,
};

fn question(instructions: &str, names: &[&str]) -> Question {
    let option = |name: &&str| QuestionOption {
        name: (*name).to_owned(),
        description: None,
    };
    Question {
        instructions: Some(instructions.into()),
        shape: Shape::Choice(names.iter().map(option).collect()),
    }
}

fn decision(state: &str, questions: Vec<Question>) -> Decision {
    Decision {
        state: Content::from(state),
        questions,
    }
}

fn encode(
    form: &str,
    decision: &Decision,
    media: &[MediumOutline],
    options: &EncodeOptions,
) -> Result<EncodedDecision, PromptError> {
    PromptForm::built_in(form)?.encode_with_media(&TOKENIZERS.0, decision, media, options)
}

/// The user text as shared/reference/jev-omni.md describes it, before it is stripped.
fn user_text(state: &str, instructions: &str, names: &[&str]) -> String {
    let count = names.len();
    let lines: String = names
        .iter()
        .zip(1..)
        .map(|(name, number)| format!("{number}. {name}\n"))
        .collect();
    format!(
        "{state}\n\n---\n\nQUESTION: {instructions}\n\nOPTIONS:\n{lines}\nReply with only the number of the correct \
         option (1-{count}).\nOutput a single number and nothing else."
    )
}

/// Ids that the reference tokenizer gives for the chat form around `media` and `user`.
fn reference(media: &str, user: &str) -> Vec<TokenId> {
    let text = format!("<bos><|turn>user\n{media}{user}<turn|>\n<|turn>model\n<|channel>thought\n<channel|>");
    TOKENIZERS.1.encode(text, false).unwrap().get_ids().to_vec()
}

fn whole(encoded: &EncodedDecision, question: usize) -> Vec<TokenId> {
    let tokens = &encoded.questions[question].orders[0].tokens;
    [encoded.state.as_slice(), tokens].concat()
}

#[test]
fn ids_equal_those_of_the_whole_string() {
    for (state, stripped) in [
        ("My parcel is late.", "My parcel is late."),
        ("\n\t two  spaces \n\n", "two  spaces \n\n"),
        ("\u{1f}é 猫 🙂\u{3000}", "é 猫 🙂\u{3000}"),
    ] {
        let names = ["yes", "no", "nan"];
        let asked = decision(state, vec![question("Is it so?", &names)]);
        let encoded = encode("jev-omni", &asked, &[], &ROOMY).unwrap();
        assert_eq!(
            whole(&encoded, 0),
            reference("", &user_text(stripped, "Is it so?", &names))
        );
    }
    // Of an empty state nothing is left, the blank line before the rule included.
    let asked = decision(" \n", vec![question("Is it so?", &["a", "b"])]);
    let encoded = encode("jev-omni", &asked, &[], &ROOMY).unwrap();
    let text = user_text("", "Is it so?", &["a", "b"]);
    assert_eq!(whole(&encoded, 0), reference("", text.trim_start()));
}

#[test]
fn options_are_written_as_they_are() {
    let names = [" a ", "b\n3. c", "\"d\""];
    let asked = decision("x", vec![question("q", &names)]);
    let encoded = encode("jev-omni", &asked, &[], &ROOMY).unwrap();
    assert_eq!(whole(&encoded, 0), reference("", &user_text("x", "q", &names)));
}

#[test]
fn media_stand_before_the_text_in_the_order_given() {
    let asked = decision(" x", vec![question("q", &["a", "b"])]);
    let media = [
        MediumOutline::Image { soft_tokens: 3 },
        MediumOutline::Audio { soft_tokens: 2 },
        MediumOutline::Image { soft_tokens: 1 },
    ];
    let encoded = encode("jev-omni", &asked, &media, &ROOMY).unwrap();
    let marks = "<|image><|image|><|image|><|image|><image|><|audio><|audio|><|audio|><audio|><|image><|image|><image|>";
    assert_eq!(
        whole(&encoded, 0),
        reference(marks, &user_text("x", "q", &["a", "b"]))
    );
    let image = TOKENIZERS.0.special("<|image|>").unwrap();
    let audio = TOKENIZERS.0.special("<|audio|>").unwrap();
    let tokens: Vec<_> = encoded
        .soft_runs
        .iter()
        .map(|SoftRun { start, len }| encoded.state[*start..start + len].to_vec())
        .collect();
    assert_eq!(tokens, [vec![image; 3], vec![audio; 2], vec![image]]);
}

#[test]
fn a_video_is_pictures_or_frames_with_their_times() {
    let asked = decision("x", vec![question("q", &["a", "b"])]);
    let frame = |seconds| FrameOutline {
        soft_tokens: 2,
        seconds,
    };
    let media = [MediumOutline::Video {
        frames: vec![frame(0.0), frame(64.5)],
    }];
    let text = user_text("x", "q", &["a", "b"]);
    let encoded = encode("jev-omni", &asked, &media, &ROOMY).unwrap();
    let frames = "<|image><|image|><|image|><image|>".repeat(2);
    assert_eq!(whole(&encoded, 0), reference(&frames, &text));
    assert_eq!(encoded.soft_runs.len(), 2);

    let encoded = encode("jev-omni-native", &asked, &media, &ROOMY).unwrap();
    let frames = "00:00 <|image><|video|><|video|><image|> 01:04 <|image><|video|><|video|><image|>";
    assert_eq!(whole(&encoded, 0), reference(frames, &text));
    let none = [MediumOutline::Video { frames: vec![] }];
    assert!(matches!(
        encode("jev-omni", &asked, &none, &ROOMY),
        Err(PromptError::EmptyMedium {
            medium: 0,
            kind: "video"
        })
    ));
}

#[test]
fn questions_share_what_they_start_with_alike() {
    let questions = vec![
        question("Is it late?", &["a", "b"]),
        question("Is it here?", &["a", "b", "c"]),
    ];
    let media = [MediumOutline::Image { soft_tokens: 4 }];
    let both = encode("jev-omni", &decision("s", questions.clone()), &media, &ROOMY).unwrap();
    for (index, question) in questions.into_iter().enumerate() {
        let alone = encode("jev-omni", &decision("s", vec![question]), &media, &ROOMY).unwrap();
        assert_eq!(whole(&both, index), whole(&alone, 0));
        assert_eq!(alone.questions[0].orders[0].tokens.len(), 1);
    }
    assert!(both.state.len() > 10);
}

#[test]
fn the_shown_place_is_numbered() {
    let asked = decision("x", vec![question("q", &["a", "b", "c"])]);
    let options = EncodeOptions {
        order_averages: 3,
        ..ROOMY
    };
    let encoded = encode("jev-omni", &asked, &[], &options).unwrap();
    let orders = &encoded.questions[0].orders;
    assert_eq!(orders.len(), 3);
    for (order, names) in orders
        .iter()
        .zip([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]])
    {
        let ids = [encoded.state.as_slice(), &order.tokens].concat();
        assert_eq!(ids, reference("", &user_text("x", "q", &names)));
    }
}

#[test]
fn what_a_form_cannot_show_is_refused() {
    let asked = decision("x", vec![question("q", &["a", "b"])]);
    let media = [MediumOutline::Audio { soft_tokens: 1 }];
    let error = PromptForm::built_in("plain-answer")
        .unwrap()
        .encode_with_media(&TOKENIZERS.0, &asked, &media, &ROOMY)
        .unwrap_err();
    assert!(error.to_string().contains("audio"), "{error}");
    let prior = EncodeOptions { prior: true, ..ROOMY };
    assert!(encode("jev-omni", &asked, &[], &prior).is_err());
    let many = [MediumOutline::Image { soft_tokens: 280 }];
    let tight = EncodeOptions {
        context: 200,
        ..ROOMY
    };
    let error = encode("jev-omni", &asked, &many, &tight).unwrap_err();
    assert!(error.to_string().contains("280 soft tokens"), "{error}");
}

#[test]
fn text_makes_no_medium() {
    let state = "a <|image|> b <|image> c <|video|><bos>";
    let asked = decision(state, vec![question("<|audio|>", &["<image|>", "b"])]);
    let media = [MediumOutline::Image { soft_tokens: 2 }];
    let encoded = encode("jev-omni", &asked, &media, &ROOMY).unwrap();
    let ids = whole(&encoded, 0);
    let count = |token: &str| {
        let id = TOKENIZERS.0.special(token).unwrap();
        ids.iter().filter(|found| **found == id).count()
    };
    assert_eq!(
        [
            "<|image|>",
            "<|image>",
            "<image|>",
            "<|video|>",
            "<|audio|>",
            "<bos>"
        ]
        .map(count),
        [2, 1, 1, 0, 0, 1]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_comes_fits_and_is_counted(
        state in "[ab \n猫]{0,80}",
        context in 150usize..330,
        policy in 1usize..4,
        soft_tokens in 1usize..20,
    ) {
        let truncate = [Truncate::Error, Truncate::Start, Truncate::End, Truncate::Middle][policy];
        let asked = decision(&state, vec![question("q", &["a", "b"]), question("other", &["a", "b"])]);
        let media = [MediumOutline::Image { soft_tokens }];
        let options = EncodeOptions { context, truncate, ..ROOMY };
        match encode("jev-omni", &asked, &media, &options) {
            Err(PromptError::TooLong { excess: Excess::Question(_) | Excess::Media(_), .. }) => {}
            Err(error) => panic!("{error}"),
            Ok(encoded) => {
                prop_assert!(encoded.longest_path() <= context);
                let all = encode("jev-omni", &asked, &media, &ROOMY).unwrap();
                prop_assert_eq!(all.longest_path() - encoded.truncated_tokens, encoded.longest_path());
                prop_assert_eq!(encoded.soft_runs, all.soft_runs);
            }
        }
    }
}
