//! The peer of the benchmarks computes what this engine computes: same weights, same tokens, same next-token
//! distributions. Needs the default model in the cache and the feature `peer-llama`.
#![cfg(feature = "peer-llama")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use assize::bench::{PeerFile, Subject, Versus, VersusOptions};
use assize_models::{DEFAULT_MODEL, TokenId};

const TEXTS: [&str; 4] = [
    "I was charged twice and nobody answers my mails! What is this ticket about?",
    "fn main() { println!(\"{}\", 6 * 7); } // prints",
    "Die Lieferung kam zu spät, und das Paket war offen. 😡 So würde ich",
    "One two three one two three one two three one two three one two",
];

#[test]
fn the_peer_agrees_with_float32_and_is_timed_in_turn() {
    let subject = Subject::open(DEFAULT_MODEL, None).unwrap();
    let options = VersusOptions {
        files: vec![PeerFile::F32, PeerFile::AsShipped],
        flash_attention: vec![true, false],
        threads: 2,
    };
    let versus = Versus::load(&subject, options).unwrap();

    let prompts: Vec<Vec<TokenId>> = TEXTS
        .iter()
        .map(|text| subject.tokenizer.encode_text(text).unwrap())
        .collect();
    let records = versus.agreement(&subject, &prompts, || ()).unwrap();
    let found = |name: &str| records.iter().find(|record| record.variant == name).unwrap();
    for (variant, most) in [
        ("llama.cpp F32, flash attention off", 1e-5),
        ("llama.cpp F32, flash attention on", 1e-4),
        ("llama.cpp as-shipped, flash attention off", 0.02),
        ("assize int8", 0.02),
    ] {
        let record = found(variant);
        assert!(record.max_kl < most, "{variant}: KL {}", record.max_kl);
        assert_eq!(record.prompts, prompts.len());
    }
    // Another computation would show: the shipped file rounds activations to 8 bits, and is seen to differ.
    assert!(found("llama.cpp as-shipped, flash attention off").mean_kl > 1e-6);

    let times = versus.speed(&subject, &[16], 2, || ()).unwrap();
    assert_eq!(times.len(), 2 + 4);
    for record in times {
        assert_eq!(record.samples_ns.len(), 2);
        assert!(record.median_ts > 0.0 && record.int8_speedup > 0.0);
        assert_eq!(record.peer.is_some(), record.variant.starts_with("llama.cpp"));
    }
}
