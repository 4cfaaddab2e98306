#!/usr/bin/env bash
# Long runs: tests/soak.sh SECONDS. Repeats the kill storm and the random sequences with new seeds and prints them.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=${1:-600}
seed=${GALLIVANT_SEED:-1}
started=$SECONDS
rounds=0
cargo test --locked --release -p gallivant-tests --no-run
while [ $((SECONDS - started)) -lt "$limit" ]; do
    GALLIVANT_SEED=$seed cargo test --locked --release -q -p gallivant-tests --test conformance harness_state_invariants
    GALLIVANT_SEED=$seed GALLIVANT_KILLS=400 cargo test --locked --release -q -p gallivant-tests --test races
    seed=$((seed + 1))
    rounds=$((rounds + 1))
done
echo "soak: $rounds rounds, last seed $((seed - 1)), $((SECONDS - started)) s, $((rounds * 400)) kills, no failure"
