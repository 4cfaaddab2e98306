#!/usr/bin/env bash
# Builds the C library and runs its C tests: tests/c/run.sh plain|valgrind|asan
#
#   plain     every program against the shared library and against the archive that is installed; the exported symbols;
#             a program with a SQLite of its own; the installed tree
#   valgrind  the same programs under valgrind, where a lost block is an error too
#   asan      the same programs with the library and themselves under AddressSanitizer (needs the nightly toolchain)
#
# The last line is `N passed, N failed`, over all programs.
set -euo pipefail
cd "$(dirname "$0")/../.."

mode=${1:-plain}
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
out=$target/c-tests/$mode
rm -rf "$out"
mkdir -p "$out/agent"
# A backtrace would be memory that valgrind counts, and costs tens of milliseconds.
export RUST_BACKTRACE=0

warnings=(-Wall -Wextra -Werror -Wpedantic)
c=(gcc -g -std=c11 "${warnings[@]}" -Wstrict-prototypes -Iinclude)
cpp=(g++ -g -std=c++17 "${warnings[@]}" -Iinclude)
system_libraries=(-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc)
suite=(tests/c/check.c tests/c/basics.c tests/c/inputs.c tests/c/claim.c tests/c/writer.c tests/c/reader.c
    tests/c/fleet.c tests/c/watch.c tests/c/extension.c
    tests/c/ownership.c tests/c/environment.c tests/c/session.c tests/c/hook.c tests/c/handles.c tests/c/testing.c
    tests/c/redaction.c tests/c/verification.c tests/c/journal.c tests/c/journal_looks.c tests/c/log_reader.c tests/c/replay.c
    tests/c/replay_waiting.c tests/c/idempotency.c tests/c/idempotency_waiting.c tests/c/idempotency_handles.c
    tests/c/execution.c tests/c/execution_handles.c tests/c/execution_drive.c tests/c/publication.c
    tests/c/health.c tests/c/lanes.c tests/c/local_runs.c tests/c/codes.c)

adapter=(tests/adapters/c/adapter.c tests/adapters/c/json.c)
claims=(tests/adapters/c/claims.c tests/adapters/c/claims_answers.c tests/adapters/c/json.c)
driver=(tests/adapters/c/drive.c tests/adapters/c/drive_call.c tests/adapters/c/drive_desk.c tests/adapters/c/drive_faults.c
    tests/adapters/c/drive_wire.c tests/adapters/c/json.c)
json_test=(tests/adapters/c/json_test.c tests/adapters/c/json.c)

# Which vectors of idempotent creates are run; an empty part of a name is all of them.
creates=("")

passed=0 failed=0
# Seconds that one program has.
patience=600
closing='^([0-9]+) passed, ([0-9]+) failed(, [0-9]+ skipped)?$'

# count NAME COMMAND...: runs a program and adds up its closing line; any other end is one failure.
count() {
    local name=$1 output line status=0
    shift
    output=$(timeout "$patience" "$@" 2>&1) || status=$?
    if [ "$status" -eq 0 ] && line=$(tail -n 1 <<<"$output") && [[ $line =~ $closing ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
        echo "$name: $line"
    else
        failed=$((failed + 1))
        grep -v '^ok ' <<<"$output" || true
        if [ "$status" -eq 124 ]; then echo "$name: failed, not done after $patience s"; else echo "$name: failed ($status)"; fi
    fi
}

# check NAME COMMAND...: one test that is a command; it fails at the first of its commands that does.
check() {
    local name=$1 output status
    shift
    set +e
    output=$(set -e; "$@" 2>&1)
    status=$?
    set -e
    if [ "$status" -eq 0 ]; then
        passed=$((passed + 1))
        echo "$name: ok"
    else
        failed=$((failed + 1))
        printf '%s\n%s: failed\n' "$output" "$name"
    fi
}

# What local runs start between a launcher and its harness; only beside the shared library it would be found untold.
supervisor() {
    export GALLIVANT_SUPERVISE=$target/supervise/gallivant-supervise
    if [ ! -x "$GALLIVANT_SUPERVISE" ]; then cargo build --locked --profile supervise -p gallivant-supervise; fi
}

build() {
    supervisor
    # What another call of cargo has built is not built again: with other packages beside it, it would be another build.
    local library=$target/release/libgallivant.so
    if [ ! -f "$library" ] || [ ! -f "${library%.so}.a" ] ||
        [ -n "$(find core/src ffi/src docs/errors ffi/build.rs ffi/Cargo.toml core/Cargo.toml Cargo.toml -newer "$library" -type f)" ]; then
        cargo build --locked --release -p libgallivant
    fi
    # The program asks for the soname, which only an installation names so.
    ln -sf libgallivant.so "$target/release/libgallivant.so.0"
    ffi/archive.sh "$target/release/libgallivant.a" "$out/libgallivant.a"
}

# link KIND COMPILER-AND-FLAGS... : links against the shared library or against the archive.
link() {
    local kind=$1
    shift
    case $kind in
    shared) "$@" -L"$target/release" -lgallivant -Wl,-rpath,"$target/release" -lpthread ;;
    archive) "$@" "$out/libgallivant.a" "${system_libraries[@]}" ;;
    esac
}

programs() {
    local kind snippet
    for kind in shared archive; do
        link "$kind" "${c[@]}" "${suite[@]}" -o "$out/suite-$kind"
        link "$kind" "${cpp[@]}" tests/c/cplusplus.cpp -o "$out/cplusplus-$kind"
        link "$kind" "${c[@]}" examples/c-status-bar/status_bar.c -o "$out/status-bar-$kind"
        link "$kind" "${c[@]}" examples/c-run-tail/run_tail.c -o "$out/run-tail-$kind"
        link "$kind" "${c[@]}" "${adapter[@]}" -o "$out/adapter-$kind"
        link "$kind" "${c[@]}" "${claims[@]}" -o "$out/claims-$kind"
        link "$kind" "${c[@]}" "${driver[@]}" -o "$out/driver-$kind"
        link "$kind" "${c[@]}" tests/c/other_sqlite.c -o "$out/other-sqlite-$kind"
        link "$kind" "${c[@]}" tests/c/costs.c -o "$out/costs-$kind"
        link "$kind" "${c[@]}" tests/c/sleeping.c -o "$out/sleeping-$kind"
        for snippet in tests/c/snippets/*.c; do
            link "$kind" "${c[@]}" "$snippet" -o "$out/$(basename "$snippet" .c)-$kind"
        done
    done
    "${c[@]}" "${json_test[@]}" -o "$out/json-test"
}

# The lines of a run by both programs that show them; and one that is written while they are followed.
run_tail() {
    local kind=$1 run status=0
    shift
    run=$(mktemp -d "$out/agent/XXXXXX")
    "$@" "$out/journal-$kind" "$run"
    diff <(printf '%s\n' 'the key is [redacted]' '{"usd":0.1}' '[gap]') <("$@" "$out/run-tail-$kind" --once "$run")
    diff <(printf '%s\n' '[gap]') <("$@" "$out/run-tail-$kind" --once -n 1 "$run")
    diff <(printf 'id: 3\nevent: gap\ndata: {"id":"3","kind":"gap"}\n\n') <("$@" "$out/sse-$kind" "$run" 2)
    "$@" "$out/run-tail-$kind" "$run" >"$run.followed" &
    local follower=$!
    timeout 120 sh -c "until grep -q gap '$run.followed'; do sleep 0.05; done" || status=1
    "$@" "$out/journal-$kind" "$run" '[{"id":"e-4","provenance":"local","type":"output","data":"two\nlines"}]'
    timeout 120 sh -c "until grep -q lines '$run.followed'; do sleep 0.05; done" || status=1
    kill "$follower"
    wait "$follower" 2>/dev/null || true
    diff <(printf '%s\n' 'the key is [redacted]' '{"usd":0.1}' '[gap]' two lines) "$run.followed"
    return "$status"
}

# The listed cases by the test driver. It ends while calls run, as a crash does, so what it has not freed is no loss.
execution_vectors() {
    local kind=$1 cases
    shift
    if [ "$mode" = valgrind ]; then set -- "$@" --leak-check=no; fi
    mapfile -t cases < <(grep '^EXV' tests/vectors/execution/green.txt)
    timeout "$patience" python3 tests/vectors/execution/run_cases.py --driver "$* $out/driver-$kind" "${cases[@]}"
}

# Runs every program, with a prefix such as valgrind; the snippets and the example end with 0 on a seat of their own.
run_programs() {
    local kind snippet name seat part
    count "the adapter's JSON" "$@" "$out/json-test"
    for kind in "${kinds[@]}"; do
        count "vectors, $kind" python3 tests/vectors/harness-state/run.py -- "$@" "$out/adapter-$kind"
        for part in "${creates[@]}"; do
            count "vectors of idempotent creates, ${part:-all}, $kind" python3 tests/vectors/idempotency/run.py \
                --only "$part" -- "$@" "$out/claims-$kind"
        done
        check "vectors of the execution layer, $kind" execution_vectors "$kind" "$@"
        count "suite, $kind" "$@" "$out/suite-$kind"
        seat=$(mktemp -d "$out/agent/XXXXXX")
        count "C++17, $kind" "$@" "$out/cplusplus-$kind" "$seat"
        check "status bar, $kind" timeout 300 "$@" "$out/status-bar-$kind" --once "$seat" "$seat/nobody"
        check "run tail, $kind" run_tail "$kind" "$@"
        for snippet in tests/c/snippets/*.c; do
            name=$(basename "$snippet" .c)
            seat=$(mktemp -d "$out/agent/XXXXXX")
            check "snippet $name, $kind" timeout 300 "$@" "$out/$name-$kind" "$seat" </dev/null
        done
    done
}

# What reading costs, that the status bar sleeps, and that another SQLite is left alone: only where nothing else allocates,
# traces or slows down.
run_measurements() {
    local kind
    for kind in "${kinds[@]}"; do
        count "costs, $kind" "$out/costs-$kind" "$(mktemp -d "$out/agent/XXXXXX")"
        count "sleeping, $kind" "$out/sleeping-$kind" "$out/status-bar-$kind" "$(mktemp -d "$out/agent/XXXXXX")"
        check "beside another SQLite, $kind" "$out/other-sqlite-$kind" "$(mktemp -d "$out/agent/XXXXXX")"
    done
}

exports_only_what_is_listed() {
    diff ffi/symbols.txt <(nm -D --defined-only "$target/release/libgallivant.so" | awk '{ print $3 }' | LC_ALL=C sort)
}

# A program sees of the archive what it sees of the shared library.
archive_shows_only_what_is_listed() {
    diff ffi/symbols.txt <(nm -g --defined-only "$out/libgallivant.a" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort)
}

every_function_is_called() {
    local symbol missing=0
    while read -r symbol; do
        grep -qE "\b$symbol\(" tests/c/*.c || { echo "no C test calls $symbol"; missing=1; }
    done <ffi/symbols.txt
    return "$missing"
}

# What the shell itself says about the state of an agent, through an installed library.
installed_tree() {
    local prefix=$out/prefix staged=$out/staged seat=$out/agent/installed
    ffi/install.sh "$prefix"
    DESTDIR=$staged LIBDIR=/usr/lib/somewhere ffi/install.sh /usr
    test -L "$staged/usr/lib/somewhere/libgallivant.so" -a -f "$staged/usr/include/gallivant.h"
    if grep -rqF "$staged" "$staged/usr/lib/somewhere/pkgconfig"; then return 1; fi
    export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    mkdir -p "$seat"
    # shellcheck disable=SC2046 # the words are the flags
    gcc -std=c11 examples/c-status-bar/status_bar.c $(pkg-config --cflags --libs gallivant) -o "$out/installed-shared"
    LD_LIBRARY_PATH=$prefix/lib "$out/installed-shared" --once "$seat"
    readelf -d "$out/installed-shared" | grep -F 'libgallivant.so.0'
    # shellcheck disable=SC2046
    gcc -std=c11 examples/c-status-bar/status_bar.c $(pkg-config --cflags gallivant) \
        "$(pkg-config --variable=libdir gallivant)/libgallivant.a" "${system_libraries[@]}" -o "$out/installed-by-name"
    "$out/installed-by-name" --once "$seat"
    # Where only the archive is there, the same flags with --static link it.
    rm "$prefix"/lib/libgallivant.so*
    # shellcheck disable=SC2046
    gcc -std=c11 examples/c-status-bar/status_bar.c $(pkg-config --static --cflags --libs gallivant) \
        -o "$out/installed-archive"
    "$out/installed-archive" --once "$seat"
    if readelf -d "$out/installed-archive" | grep -F libgallivant; then return 1; fi
}

case $mode in
plain)
    build
    programs
    kinds=(shared archive)
    run_programs
    run_measurements
    check "exported symbols" exports_only_what_is_listed
    check "symbols of the archive" archive_shows_only_what_is_listed
    check "every function is called" every_function_is_called
    check "installed tree" installed_tree
    ;;
valgrind)
    build
    programs
    # One of the two: they hold the same code, and each takes minutes.
    kinds=(shared)
    # The others race many processes against deadlines, which emulation does not keep.
    creates=(ik01 ik05 ik20)
    # Threads take turns in order: otherwise one that only computes keeps another waiting for minutes.
    run_programs valgrind -q --fair-sched=yes --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,indirect,possible \
        --suppressions=tests/c/valgrind.supp
    ;;
asan)
    supervisor
    # A target folder of its own: other flags would rebuild everything in the other one.
    triple=$(rustc -vV | sed -n 's/^host: //p')
    # SQLite is not what is looked for here, and the sanitizer would have the compiler work on it for minutes.
    CFLAGS="-O1 -fno-sanitize=all" \
        RUSTFLAGS="-Zsanitizer=address -Cforce-frame-pointers=yes" CARGO_PROFILE_RELEASE_LTO=off \
        CARGO_PROFILE_RELEASE_STRIP=none CARGO_PROFILE_RELEASE_DEBUG=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        CARGO_TARGET_DIR=$target/asan \
        cargo +nightly build --locked --release --target "$triple" -p libgallivant
    runtime=$(rustc +nightly --print sysroot)/lib/rustlib/$triple/lib/librustc-nightly_rt.asan.a
    # One runtime only, the nightly's: programs are compiled with the sanitizer and linked without.
    sanitized() {
        local compiler=$1 program=$2 source objects=()
        shift 2
        for source in "$@"; do
            objects+=("$out/$(basename "$source").o")
            case $compiler in
            c) "${c[@]}" -fsanitize=address -c "$source" -o "${objects[-1]}" ;;
            cpp) "${cpp[@]}" -fsanitize=address -c "$source" -o "${objects[-1]}" ;;
            esac
        done
        gcc "${objects[@]}" "$target/asan/$triple/release/libgallivant.a" -Wl,--whole-archive "$runtime" \
            -Wl,--no-whole-archive -rdynamic -lstdc++ "${system_libraries[@]}" -o "$out/$program-asan"
    }
    sanitized c suite "${suite[@]}"
    sanitized c adapter "${adapter[@]}"
    sanitized c claims "${claims[@]}"
    sanitized c driver "${driver[@]}"
    sanitized c json-test "${json_test[@]}"
    mv "$out/json-test-asan" "$out/json-test"
    sanitized cpp cplusplus tests/c/cplusplus.cpp
    sanitized c status-bar examples/c-status-bar/status_bar.c
    sanitized c run-tail examples/c-run-tail/run_tail.c
    for snippet in tests/c/snippets/*.c; do sanitized c "$(basename "$snippet" .c)" "$snippet"; done
    kinds=(asan)
    run_programs
    ;;
*)
    echo "usage: tests/c/run.sh plain|valgrind|asan" >&2
    exit 2
    ;;
esac

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
