#!/bin/sh
# Compares python/gallivant/_native.pyi with what the native module says of itself; `stubs.sh --write` replaces it.
# Needs maturin on the PATH, or its path in $MATURIN.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
committed=$here/python/gallivant/_native.pyi
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# A target directory of its own: another environment and another feature would rebuild everything in the shared one.
"${MATURIN:-maturin}" generate-stubs --features stubs --manifest-path "$here/Cargo.toml" --out "$made" \
    --target-dir "${CARGO_TARGET_DIR:-$here/../target}/stubs" >"$made/log" 2>&1 || { cat "$made/log" >&2; exit 1; }

# Annotations that are written as text name these modules, and the generator does not look into text.
awk '!done && /^from / { print "import collections.abc"; print "import typing\n"; done = 1 } { print }' \
    "$made/gallivant/_native.pyi" > "$made/_native.pyi"
if grep -q Incomplete "$made/_native.pyi"; then
    echo "stubs.sh: something in the native module has no type" >&2
    exit 1
fi

if [ "${1:-}" = --write ]; then
    cp "$made/_native.pyi" "$committed"
elif ! diff -u "$committed" "$made/_native.pyi"; then
    echo "stubs.sh: _native.pyi is not what the native module says; run bindings-python/stubs.sh --write" >&2
    exit 1
fi
