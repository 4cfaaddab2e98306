#!/usr/bin/env bash
# Builds what is published, into a folder: packages/build.sh OUT
#
#   gallivant-*.whl            the Python wheel, for every CPython from 3.9 on
#   gallivant-*.tar.gz         the sdist, from which pip builds where no wheel fits
#   gallivant-*.tgz            the Node package, and its native module as a package of its own
#   gallivant-core-*.crate     the Rust crate, and libgallivant-*.crate, the C library as a crate
#   libgallivant-*.tar.xz      the C library as `make install` puts it down below /usr/local
#
# The three native files are linked by zig's linker against the symbols of glibc FLOOR, whatever glibc this machine has. The
# tools come from PyPI into a folder below the target directory and stay there. Needs cargo, npm, binutils, pip, venv.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -eq 1 ] || { echo 'usage: packages/build.sh OUT' >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$root"

target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$root/$target ;; esac
target=$target/packages
machine=$(uname -m)
triple=$machine-unknown-linux-gnu
floor=$(cat packages/FLOOR)
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -1)

step() { printf '\n== %s\n' "$*"; }

step 'tools'
tools=$target/tools
[ -x "$tools/bin/python" ] || python3 -m venv "$tools"
"$tools/bin/pip" install --quiet --disable-pip-version-check -r packages/tools.txt
export PATH=$tools/bin:$PATH
unset PYTHONPATH

# A panic names the file it is in; without this what is published would name the builder's directories.
export RUSTFLAGS="--remap-path-prefix=$root=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo --remap-path-prefix=$HOME=home"
export CARGO_TARGET_DIR=$target PYO3_BUILD_EXTENSION_MODULE=1

step "native: the C library and the Node module, for glibc $floor"
cargo zigbuild --locked --release --target "$triple.$floor" -p libgallivant -p gallivant-node
cargo zigbuild --locked --profile supervise --target "$triple.$floor" -p gallivant-supervise
built=$target/$triple/release
supervisor=$target/$triple/supervise/gallivant-supervise
# The wheel takes it from its place beside the native module.
install -m 755 "$supervisor" bindings-python/python/gallivant/gallivant-supervise

step 'python: wheel and sdist'
# A folder of its own: maturin's linker has another name, by which each of the two would build anew what the other has built.
maturin build --release --locked --quiet --zig --target "$triple" --compatibility "manylinux_${floor/./_}" \
    --manifest-path bindings-python/Cargo.toml --target-dir "$target/wheel" --out "$out"
maturin sdist --manifest-path bindings-python/Cargo.toml --out "$out"

step 'node: the package and its native module'
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/main" "$stage/native"
cp -R bindings-node/lib bindings-node/package.json bindings-node/README.md LICENSE "$stage/main"
cpu=$(node -p process.arch)
cp "bindings-node/platforms/linux-$cpu-gnu"/* LICENSE "$stage/native"
install -m 755 "$built/libgallivant_node.so" "$stage/native/gallivant.linux-$cpu-gnu.node"
install -m 755 "$supervisor" "$stage/native/gallivant-supervise"
for package in main native; do
    (cd "$stage/$package" && npm pack --silent --pack-destination "$out")
done

step 'crates'
# What is packed is built once more from its own archive, which finds a file that was left behind.
env -u RUSTFLAGS cargo package --locked --allow-dirty --quiet -p gallivant-core -p libgallivant
cp "$target/package/gallivant-core-$version.crate" "$target/package/libgallivant-$version.crate" "$out"

step 'c: the installed tree'
BUILT=$built SUPERVISOR=$supervisor DESTDIR=$stage/c ffi/install.sh /usr/local >/dev/null
tar -C "$stage/c" --sort=name --owner=0 --group=0 --numeric-owner -cJf "$out/libgallivant-$version-linux-$machine.tar.xz" usr

step 'built'
ls -l "$out"
