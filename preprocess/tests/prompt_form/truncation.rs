//! States that do not fit the context.

use super::*;

#[test]
fn states_that_do_not_fit_are_refused_or_cut_as_asked() {
    let words: Vec<String> = (0..400).map(|index| format!("word{index}")).collect();
    let state = words.join(" ");
    let decision = ask(&state, choice("Is it?", &["yes", "no"]));
    let form = form("chatml-listed");
    let whole = encode(&form, &decision, &ROOMY).unwrap();
    let needed = whole.longest_path();
    let with = |context, truncate| {
        let options = EncodeOptions {
            context,
            truncate,
            ..ROOMY
        };
        encode(&form, &decision, &options)
    };
    assert_eq!(with(needed, Truncate::Error).unwrap(), whole);
    let error = with(needed - 1, Truncate::Error).unwrap_err();
    let expected = PromptError::TooLong {
        needed,
        at_least: false,
        allowed: needed - 1,
        excess: Excess::State,
    };
    assert_eq!(error, expected);
    assert!(error.to_string().contains(&format!(
        "needs {needed} tokens and the context holds {}",
        needed - 1
    )));

    for truncate in [Truncate::Start, Truncate::End, Truncate::Middle] {
        assert_eq!(with(needed, truncate).unwrap(), whole);
        let cut = with(300, truncate).unwrap();
        assert!(
            (290..=300).contains(&cut.longest_path()),
            "{truncate:?}: {}",
            cut.longest_path()
        );
        assert_eq!(cut.truncated_tokens, whole.state.len() - cut.state.len());
        assert_eq!(cut.questions, whole.questions);
        let text = LLAMA.0.decode(&cut.state).unwrap();
        let kept = text.strip_prefix("<|im_start|>user\n").unwrap();
        match truncate {
            Truncate::Start => assert!(state.ends_with(kept)),
            Truncate::End => assert!(state.starts_with(kept)),
            _ => {
                let (head, tail) = kept.split_once("\n...\n").unwrap();
                assert!(state.starts_with(head) && state.ends_with(tail));
                assert!(head.len().abs_diff(tail.len()) < 40);
            }
        }
        // The question alone does not fit: cutting the state is no help, and the error says so.
        let error = with(20, truncate).unwrap_err();
        assert!(matches!(
            &error,
            PromptError::TooLong {
                excess: Excess::Question(0),
                ..
            }
        ));
    }
}

#[test]
fn a_question_is_asked_of_the_same_part_of_a_cut_state_whatever_else_is_asked() {
    let words: Vec<String> = (0..900).map(|index| format!("word{index}")).collect();
    let state = words.join(" ");
    let questions = [
        choice("Is it?", &["yes", "no"]),
        choice(&"a long one ".repeat(60), &["yes", "no"]),
        choice("Is it something else than that?", &["yes", "no", "neither"]),
        choice(&"another long one ".repeat(50), &["yes", "no"]),
    ];
    let form = form("chatml-listed");
    let options = |context, truncate| EncodeOptions {
        context,
        truncate,
        ..ROOMY
    };
    let groups = |questions: &[&Question], options: &EncodeOptions| {
        let decision = Decision {
            state: state.as_str().into(),
            questions: questions.iter().map(|question| (*question).clone()).collect(),
        };
        form.encode_groups(&LLAMA.0, &decision, &[], options).unwrap()
    };
    let whole = groups(&questions.each_ref(), &ROOMY);
    assert_eq!(whole.len(), 1, "what fits is shared");
    assert_eq!(whole[0].questions, [0, 1, 2, 3]);
    // At the third context the short questions fit with the whole state and the long ones do not.
    let fits_short = whole[0].encoded.state.len() + 100;
    for context in [1_000, 2_000, fits_short] {
        for truncate in [Truncate::Start, Truncate::End, Truncate::Middle] {
            let options = options(context, truncate);
            let together = groups(&questions.each_ref(), &options);
            let mut seen = vec![false; questions.len()];
            for group in &together {
                assert!(group.encoded.longest_path() <= context);
                for (place, index) in group.questions.iter().enumerate() {
                    let alone = groups(&[&questions[*index]], &options);
                    assert_eq!(alone.len(), 1);
                    assert_eq!(
                        alone[0].encoded.state, group.encoded.state,
                        "{context} {truncate:?} {index}"
                    );
                    assert_eq!(alone[0].encoded.questions[0], group.encoded.questions[place]);
                    assert_eq!(alone[0].encoded.truncated_tokens, group.encoded.truncated_tokens);
                    seen[*index] = true;
                }
            }
            assert!(seen.iter().all(|seen| *seen));
            assert!(
                together.iter().any(|group| group.questions == [0, 2]),
                "short ones share"
            );
        }
    }
    let refused = form.encode_groups(
        &LLAMA.0,
        &Decision {
            state: state.as_str().into(),
            questions: questions.to_vec(),
        },
        &[],
        &options(1_000, Truncate::Error),
    );
    assert!(matches!(
        refused,
        Err(PromptError::TooLong {
            excess: Excess::State,
            ..
        })
    ));
}

#[test]
fn far_too_long_states() {
    let form = form("chatml-answer");
    let question = choice("Is it?", &["yes", "no"]);
    for state in [
        "a".repeat(3_000_000),
        "7".repeat(300_000),
        "some words ".repeat(50_000),
        "日本".repeat(100_000),
    ] {
        let decision = ask(&state, question.clone());
        let with = |truncate| {
            let options = EncodeOptions {
                context: 500,
                truncate,
                ..ROOMY
            };
            encode(&form, &decision, &options)
        };
        let error = with(Truncate::Error).unwrap_err();
        assert!(
            matches!(error, PromptError::TooLong { at_least: true, needed, .. } if needed > 500),
            "{error}"
        );
        assert!(error.to_string().contains("at least"));
        if state.len() < 1_000_000 {
            let whole = LLAMA.1.encode(state.as_str(), false).unwrap().len();
            for truncate in [Truncate::Start, Truncate::End, Truncate::Middle] {
                let cut = with(truncate).unwrap();
                assert!(
                    (480..=500).contains(&cut.longest_path()),
                    "{}",
                    cut.longest_path()
                );
                let counted = cut.truncated_tokens + cut.state.len();
                assert!(counted.abs_diff(whole) < 50, "{counted} counted of {whole}");
            }
        }
    }
}
