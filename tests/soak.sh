#!/usr/bin/env bash
# Long runs: tests/soak.sh SECONDS. Rounds with new seeds, each of which prints its figures: random sequences against the
# invariants and against the model, races of stops, a thousand killed Rust writers and some hundred of Python and Node, a
# thousand killed coordinators over a provider that keeps books and a hundred in the middle of a publication, four languages that
# contend for a damaged seat, a thousand interleavings of idempotent creates, a thousand stops that race a publication, and at the
# end ten million replay keys and every parser's fuzzing.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=${1:-600}
seed=${GALLIVANT_SEED:-1}
kills=${GALLIVANT_KILLS:-1000}
started=$SECONDS
rounds=0
tests=(cargo test --locked --release -q -p gallivant-tests)
"${tests[@]}" --no-run
while [ $((SECONDS - started)) -lt "$limit" ]; do
    echo "soak: round $((rounds + 1)), seed $seed"
    export GALLIVANT_SEED=$seed
    "${tests[@]}" --test conformance harness_state_invariants
    GALLIVANT_SEED=$((seed * 10000)) GALLIVANT_RACES=1000 "${tests[@]}" --test conformance i13_ -- --nocapture
    # Each round has seeds of its own.
    GALLIVANT_SEED=$((seed * 1000)) GALLIVANT_SEQUENCES=500 "${tests[@]}" --test model -- --nocapture
    # A thousand worlds of a hundred steps, and twenty thousand races of stops, in each round; the first seed that fails is
    # printed and replays alone.
    GALLIVANT_SEED=$((seed * 100000)) GALLIVANT_STEPS=${GALLIVANT_STEPS:-100000} GALLIVANT_RACES=${GALLIVANT_RACES:-20000} \
        "${tests[@]}" --test simulation -- --nocapture
    GALLIVANT_KILLS=$kills GALLIVANT_SWAP_SECONDS=30 "${tests[@]}" --test races -- --nocapture
    GALLIVANT_STORM=$((kills / 10)) "${tests[@]}" --test local-runs storm -- --nocapture
    GALLIVANT_KILLS=$(((kills + 3) / 4)) python3 tests/interop/test_kill_storm.py
    GALLIVANT_COORDINATOR_KILLS=$kills python3 tests/interop/test_coordinator_storm.py
    GALLIVANT_PUBLICATION_KILLS=$(((kills + 9) / 10)) python3 examples/test_publishing.py ToABranch -k killed_at
    GALLIVANT_CONTENTION_SECONDS=60 python3 tests/interop/test_contention.py
    GALLIVANT_SEED=$((seed * 1000)) GALLIVANT_INTERLEAVINGS=250 python3 tests/interop/test_idempotency.py
    seed=$((seed + 1))
    rounds=$((rounds + 1))
done
# Every operation and every fault point of every call of the execution layer and of publication, and every pair of crashes of an
# application.
GALLIVANT_EVERY=1 "${tests[@]}" --test crash -- execution artifacts publication --nocapture
# One line of 300 MB, and a gigabyte.
"${tests[@]}" --test local-runs -- --ignored --nocapture --test-threads 1 leaves_memory_flat
# EX-JRN-79 at its full size.
cargo test --locked --release -q -p gallivant-core --lib -- --ignored --nocapture ten_million_keys
# The page with ten runs at a thousand lines a second, where there is a browser.
if command -v "${CHROMIUM:-chromium}" >/dev/null; then
    GALLIVANT_LOAD_SECONDS=60 node --test --test-reporter=spec bindings-node/test-browser/load.test.mjs
else
    echo "soak: there is no chromium; the page under load was left out"
fi
fuzz/run.sh "${GALLIVANT_FUZZ_SECONDS:-60}"
echo "soak: $rounds rounds, last seed $((seed - 1)), $((SECONDS - started)) s, $((rounds * (2 * kills + (kills + 9) / 10 + (kills + 3) / 4))) kills, no failure"
