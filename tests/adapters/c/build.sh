#!/bin/sh
# Builds the C conformance adapters against the shared library of the last release build: adapter-c (harness state),
# claims-c (idempotent creates) and journal-c (journals), and the test driver of the execution layer, drive-c, in
# ${CARGO_TARGET_DIR:-target}/release.
set -eu
cd "$(dirname "$0")/../../.."
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
built=$target/release
# The program asks for the soname, which only an installation names so.
ln -sf libgallivant.so "$built/libgallivant.so.0"
# build NAME SOURCE...
build() {
    program=$1
    shift
    ${CC:-gcc} -g -std=c11 -Wall -Wextra -Werror -Wpedantic -Wstrict-prototypes -Iinclude \
        "$@" tests/adapters/c/json.c -o "$built/$program" -L"$built" -lgallivant -lpthread -Wl,-rpath,"$built"
}
build adapter-c tests/adapters/c/adapter.c
build claims-c tests/adapters/c/claims.c tests/adapters/c/claims_answers.c
build journal-c tests/adapters/c/journal.c
build drive-c tests/adapters/c/drive.c tests/adapters/c/drive_call.c tests/adapters/c/drive_desk.c \
    tests/adapters/c/drive_faults.c tests/adapters/c/drive_wire.c
