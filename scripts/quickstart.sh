#!/usr/bin/env bash
# From a clone to a decision: builds Assize, fetches the default model, asks once over HTTP and once on the command line.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"

PORT=${ASSIZE_PORT:-8080}

phase "tools"
need_tools
need_python_environment

phase "build"
cargo build --release --locked --package assize
ASSIZE=$ROOT/target/release/assize

phase "inference library and default model"
"$ASSIZE" engine pull
"$ASSIZE" model pull

phase "server"
"$ASSIZE" serve --port "$PORT" >.cache/quickstart.log 2>&1 &
SERVER=$!
trap 'kill "$SERVER" 2>/dev/null || true' EXIT
for _ in $(seq 100); do
    curl -fsS "http://127.0.0.1:$PORT/ready" >/dev/null 2>&1 && break
    kill -0 "$SERVER" 2>/dev/null || { cat .cache/quickstart.log >&2; fail "the server stopped"; }
    sleep 0.1
done

phase "a decision over HTTP"
curl -fsS "http://127.0.0.1:$PORT/decide" -H 'content-type: application/json' -d '{
  "state": "Dear friend, you have WON $5,000,000! Click here to claim your prize.",
  "question": "Is this message spam?",
  "options": ["spam", "not spam"]
}'
echo
kill -TERM "$SERVER"
wait "$SERVER" || fail "the server did not stop cleanly"
trap - EXIT

phase "a decision on the command line"
"$ASSIZE" decide "The food was cold and the waiter rude." \
    --question "What is the mood of this review?" --option positive --option negative

phase "done"
echo "Start the server with: target/release/assize serve"
