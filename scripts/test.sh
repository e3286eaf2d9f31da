#!/usr/bin/env bash
# Everything that must hold, from nothing but Rust, Python 3 and gcc: format, lints, docs, tests on the real default model,
# the official clients, the optional features, every command of the README, and damaged files for every decoder.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

export CARGO_TERM_COLOR=never
export RUSTDOCFLAGS="-D warnings"
# A missing model or client is a failure here, not a skipped test.
export ASSIZE_REQUIRE_MODEL=1 ASSIZE_REQUIRE_CLIENTS=1
export ASSIZE_CACHE="$ROOT/.cache/assize"

phase "tools and packages"
need_tools
# The command that video frames are compared with.
command -v ffmpeg >/dev/null || debian_packages ffmpeg
# The browser that tries the page at /.
command -v chromium >/dev/null || debian_packages chromium
need_python_environment
python -m pip install --quiet --requirement tests/clients/requirements.txt

phase "format"
cargo fmt --all --check

phase "lints"
cargo clippy --locked --release --workspace --all-targets -- -D warnings

phase "docs"
cargo doc --locked --release --workspace --no-deps --quiet

phase "build"
cargo build --locked --release --workspace

phase "inference library and default model"
target/release/assize engine pull
target/release/assize model pull

phase "tests"
cargo test --locked --release --workspace --no-fail-fast

phase "README commands"
./scripts/readme_commands.sh

phase "without default features"
cargo clippy --locked --release --workspace --all-targets --no-default-features -- -D warnings
cargo test --locked --release --workspace --no-default-features --no-fail-fast

phase "feature peer-llama"
cargo clippy --locked --release --workspace --all-targets --features peer-llama -- -D warnings
cargo test --locked --release --package assize --features peer-llama --lib --test peer_llama

phase "feature torch"
. scripts/libtorch.sh
# The threads of libtorch sleep while they wait, so that other work on the machine does not stretch the tests.
export OMP_WAIT_POLICY=passive
cargo clippy --locked --release --workspace --all-targets --features torch -- -D warnings
cargo test --locked --release --package assize-models --features torch --no-fail-fast -- torch
cargo test --locked --release --package assize --features torch --test verify
target/release/assize verify --fixtures tests/golden/gemma4_unified_tiny --engine torch

phase "fuzzing"
./scripts/fuzz.sh 30

phase "all passed"
