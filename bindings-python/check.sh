#!/usr/bin/env bash
# The checks of the Python package that need pip: the stub against the native module, types, the middleware under a real
# server, and the wheel, which is built, listed, and used from an environment that holds nothing else. What is published is
# built and checked by packages/.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
target=${CARGO_TARGET_DIR:-$root/target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH

step() { printf '\n== %s\n' "$*"; }

step tools
python3 -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet 'maturin>=1.16,<2' mypy
export PATH=$work/tools/bin:$PATH

step 'stub: generated and compared'
"$here/stubs.sh"

step 'types: the package, a typed program, the adapter, the stub against the module'
mypy --config-file "$here/pyproject.toml" --cache-dir "$work/mypy" "$here/python/gallivant"
MYPYPATH=$here/python mypy --config-file "$here/pyproject.toml" --cache-dir "$work/mypy" "$here/tests/typed/program.py"
MYPYPATH=$here/python mypy --config-file "$here/pyproject.toml" --cache-dir "$work/mypy" "$root/tests/adapters/python/adapter.py"
MYPYPATH=$here/python mypy --config-file "$here/pyproject.toml" --cache-dir "$work/mypy" "$root/tests/adapters/python/claims.py"
MYPYPATH=$here/python mypy --config-file "$here/pyproject.toml" --cache-dir "$work/mypy" "$root/tests/adapters/python/journal.py"
MYPYPATH=$here/python mypy --config-file "$here/pyproject.toml" --cache-dir "$work/mypy" "$root/tests/adapters/python/drive.py"

step 'middleware and replays: under uvicorn with Starlette'
python3 -m venv "$work/served"
"$work/served/bin/pip" install --quiet uvicorn starlette
PYTHONPATH=$here/python "$work/served/bin/python" "$here/tests/served/check.py"
PYTHONPATH=$here/python "$work/served/bin/python" "$here/tests/served/replay_check.py"

step 'wheel: built and listed'
maturin build --release --locked --quiet --manifest-path "$here/Cargo.toml" --target-dir "$target" --out "$work/dist"
wheel=$(echo "$work"/dist/gallivant-*.whl)
unpacked=$work/unpacked
python3 -m zipfile -e "$wheel" "$unpacked"
(cd "$unpacked" && find . -type f | sed 's/^\.\///' | sort) | tee "$work/list"
diff "$work/list" - <<LIST
$(cd "$here/python" && find gallivant -type f \( -name '*.py' -o -name '*.pyi' -o -name py.typed \) | cat - <(printf 'gallivant/%s\n' _native.abi3.so gallivant-supervise) |
    cat - <(cd "$unpacked" && find gallivant-*.dist-info -type f) | sort)
LIST
grep -q '^Tag: cp39-abi3-' "$unpacked"/gallivant-*.dist-info/WHEEL
grep -q 'gallivant-hook=gallivant.hook:main' "$unpacked"/gallivant-*.dist-info/entry_points.txt

step 'wheel: used from an empty environment'
python3 -m venv --without-pip "$work/empty"
"$work/tools/bin/pip" --python "$work/empty/bin/python" install --quiet --no-index --no-deps "$wheel"
cd "$work"
seat=$work/seat
"$work/empty/bin/python" - "$seat" >"$work/env" <<'PROGRAM'
import sys
import gallivant

session = gallivant.Session.start(sys.argv[1], agent="a", harness="claude", pty_session="p")
assert session.holds_lease
assert gallivant.__file__.startswith(sys.prefix), gallivant.__file__
for name, value in session.to_env().items():
    print(f"{name}={value}")
PROGRAM
said=$(echo '{"hook_event_name":"Stop"}' | env $(cat "$work/env") "$work/empty/bin/gallivant-hook" claude 2>&1)
test -z "$said"
env $(cat "$work/env") "$work/empty/bin/gallivant-hook" --check claude | tail -1 | grep -x ok
"$work/empty/bin/python" -c 'import sys, gallivant; print(gallivant.__version__, gallivant.Reader(sys.argv[1]).read().state)' "$seat" |
    grep -x '[0-9.]* idle'
"$work/tools/bin/pip" --python "$work/empty/bin/python" install --quiet mypy
"$work/empty/bin/python" -m mypy.stubtest gallivant._native
echo 'import gallivant; reveal_type(gallivant.Reader("x").read())' >"$work/user.py"
"$work/empty/bin/python" -m mypy --strict "$work/user.py" | grep -F 'gallivant._native.State | None'

printf '\nall checks of the Python package passed\n'
