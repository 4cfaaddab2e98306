#!/usr/bin/env bash
# Fuzzes each parser for so many seconds: fuzz/run.sh SECONDS [TARGET...]. Needs a nightly Rust and cargo-fuzz, and says
# so and does nothing where they are missing. What is found stands in fuzz/artifacts/.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-60}
targets=("${@:2}")
if [ ${#targets[@]} -eq 0 ]; then
    targets=(record extension floor journal keys reading redaction json replies claude codex opencode gemini)
fi
if ! cargo +nightly --version >/dev/null 2>&1 || ! cargo fuzz --version >/dev/null 2>&1; then
    echo 'fuzz: skipped, a nightly Rust and cargo-fuzz are needed'
    exit 0
fi
# Instrumented artefacts are nobody else's.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/../target}/fuzz
# SQLite is not what is fuzzed, and the sanitizer would have the compiler work on it for minutes.
export CFLAGS="-O1 -fno-sanitize=all"
cargo +nightly fuzz build --fuzz-dir .
for target in "${targets[@]}"; do
    case $target in
        claude) seeds=(../tests/vectors/harness-events/claude-code.*) ;;
        gemini) seeds=(../tests/vectors/harness-events/gemini-cli.*) ;;
        codex | opencode) seeds=(../tests/vectors/harness-events/"$target".*) ;;
        *) seeds=("seeds/$target") ;;
    esac
    mkdir -p "corpus/$target"
    log=$(mktemp)
    # The first folder takes what is found on the way, the others are only read.
    if ! cargo +nightly fuzz run --fuzz-dir . "$target" "corpus/$target" "${seeds[@]}" -- \
        -max_total_time="$seconds" -print_final_stats=1 >"$log" 2>&1; then
        tail -60 "$log"
        rm -f "$log"
        exit 1
    fi
    executed=$(awk '/stat::number_of_executed_units/ {print $2}' "$log")
    echo "fuzz: $target, $executed executions in $seconds s, nothing found"
    rm -f "$log"
done
