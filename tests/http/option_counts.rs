//! 0, 1, 2, 255, 256 and 257 options.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::client::{decide, system_one};
use crate::rig::Rig;

fn names(count: usize) -> Vec<String> {
    (0..count).map(|option| format!("option {option}")).collect()
}

#[test]
fn native() {
    let rig = Rig::start();
    for field in ["options", "levels"] {
        for (count, status) in [(0, 422), (1, 200), (2, 200), (255, 200), (256, 200), (257, 422)] {
            let reply = decide(
                rig.address,
                &json!({"state": "s", "question": "q", field: names(count)}),
            );
            assert_eq!(reply.status, status, "{count} {field}: {}", reply.json());
            if status == 200 {
                let probabilities = reply.json()["answers"][0]["probabilities"]
                    .as_array()
                    .unwrap()
                    .clone();
                assert_eq!(probabilities.len(), count);
                let sum: f64 = probabilities
                    .iter()
                    .map(|entry| entry["probability"].as_f64().unwrap())
                    .sum();
                assert!((sum - 1.0).abs() < 1e-9);
            } else {
                assert_eq!(reply.error()["field"], field);
            }
        }
        let reply = decide(
            rig.address,
            &json!({"state": "s", "question": "q", field: names(257)}),
        );
        assert_eq!(reply.error()["type"], "too_many_options");
        assert!(reply.error()["message"].as_str().unwrap().contains("257"));
    }
}

#[test]
fn system_one_choice_and_score() {
    let rig = Rig::start();
    for (count, status) in [(0, 422), (1, 200), (2, 200), (255, 200), (256, 422), (257, 422)] {
        let criteria: Map<String, Value> = names(count).into_iter().map(|name| (name, Value::Null)).collect();
        let reply = system_one(
            rig.address,
            &json!({"state": "s", "questions": {"q": {"type": "choice", "instructions": "q", "criteria": criteria}}}),
        );
        assert_eq!(reply.status, status, "{count}: {}", reply.json());
        if status == 200 {
            let answer = reply.json()["answers"]["q"].clone();
            let given: HashSet<_> = answer["probabilities"]
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect();
            assert_eq!(given, names(count).into_iter().collect());
            if count == 1 {
                assert_eq!(
                    (&answer["probabilities"]["option 0"], &answer["confidence"]),
                    (&json!(1.0), &json!(1.0))
                );
            }
        }
    }
    for (count, status) in [(0, 422), (1, 200), (2, 200), (11, 200), (256, 200), (257, 422)] {
        let reply = system_one(
            rig.address,
            &json!({"state": "s", "questions": {"q": {"type": "score", "instructions": "q", "criteria": names(count)}}}),
        );
        assert_eq!(reply.status, status, "{count}: {}", reply.json());
    }
}
