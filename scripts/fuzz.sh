#!/usr/bin/env bash
# Feeds every decoder of media and the prompt writer with damaged files, each for so many seconds (30), and fails on a
# crash, a hang or a wrong result. What was found stays in .cache/fuzz/TARGET/artifacts.
#
#     scripts/fuzz.sh [SECONDS [TARGET...]]
#
# The targets have the layout of cargo-fuzz, which needs a nightly compiler; here the same coverage instrumentation is asked
# of the stable one, without a sanitizer. A file is run again with: $FUZZ_TARGET_DIR/.../TARGET FILE
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

seconds=${1:-30}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(image audio video prompt)
[[ $seconds =~ ^[1-9][0-9]*$ ]] || fail "usage: scripts/fuzz.sh [SECONDS [TARGET...]]"

phase "fuzz targets"
need_tools
host=$(rustc -vV | sed -n 's/^host: //p')
target_dir=${FUZZ_TARGET_DIR:-$ROOT/fuzz/target}
# What cargo-fuzz passes, but for the sanitizer. With a named target the flags do not reach build scripts.
flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=16 --cfg fuzzing"
# The versions that are shipped; only libFuzzer is added to them.
cp Cargo.lock fuzz/Cargo.lock
RUSTFLAGS=$flags cargo build --release --manifest-path fuzz/Cargo.toml --target "$host" --target-dir "$target_dir"

media=tests/media
seeds() {
    case $1 in
    image) ls tests/golden/pictures/*.{png,tif,webp,gif,bmp,jpg} tests/golden/gemma4_unified_tiny/media/images/* ;;
    audio) ls $media/*.{aac,amr,flac,m4a,mp3,ogg,wav} $media/chirp_opus.webm ;;
    video) ls $media/*.{avi,mkv,mov,mp4,webm} ;;
    prompt) ls preprocess/src/prompt/forms/*.json ;;
    *) fail "no target $1" ;;
    esac 2>/dev/null
}

failed=()
for target in "${targets[@]}"; do
    phase "fuzz $target for $seconds s"
    folder=$ROOT/.cache/fuzz/$target
    mkdir -p "$folder/corpus" "$folder/seeds" "$folder/artifacts"
    for seed in $(seeds "$target"); do cp -u "$seed" "$folder/seeds/"; done
    # One input may take 30 s (the limit of a video is 30 s of decoding) and 1.5 GB: instrumented code is slow, not larger.
    "$target_dir/$host/release/$target" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=1500 -print_final_stats=1 \
        -max_len=65536 -verbosity=0 -artifact_prefix="$folder/artifacts/" "$folder/corpus" "$folder/seeds" \
        2>&1 | tee "$folder/log" | tail -15 || failed+=("$target")
done
[ ${#failed[@]} -eq 0 ] || fail "fuzzing found faults in: ${failed[*]} (.cache/fuzz/TARGET/artifacts, log in .cache/fuzz/TARGET/log)"
phase "no faults"
