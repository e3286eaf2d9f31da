//! What a long text needs while it is read, it does not keep. In a program of its own, since the figures are those of the
//! process.

#![cfg(target_os = "linux")]
// A test that cannot read its own files must stop there.
#![allow(clippy::expect_used)]

mod golden_values;

use assize_models::engines::Engine;
use assize_models::{PackedBatch, Precision};
use golden_values::{default_model, load};

/// Memory of this process that no file stands behind, in MiB.
fn anonymous_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the status of this process");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.expect("a figure") / 1024
}

#[test]
fn a_long_text_leaves_no_memory_behind() {
    let Some(checkpoint) = default_model("a_long_text_leaves_no_memory_behind") else {
        return;
    };
    let backbone = load(Engine::Onnx, &checkpoint, Precision::Int8);
    let pass = |tokens: u32| {
        let ids: Vec<u32> = (0..tokens).map(|id| 5 + id % 200).collect();
        let mut batch = PackedBatch::new();
        let segment = batch.push_segment(None, &ids).expect("a segment");
        batch.read_last(segment).expect("a read");
        backbone.forward(&batch).expect("a pass");
        anonymous_mib()
    };
    let before = pass(64);
    let after = pass(6_000);
    // The pass itself needs more than a hundred.
    assert!(
        after < before + 40,
        "{before} MiB before the long text, {after} MiB after it"
    );
}
