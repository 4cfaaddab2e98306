#!/bin/sh
# Installs the command from the last release build: cli/install.sh PREFIX
#
# Puts down the program, its manual pages and its completions, which the program makes itself, and prints each file. From the
# environment: DESTDIR (a staging root that is in no file), BINDIR and DATADIR (default PREFIX/bin and PREFIX/share),
# CARGO_TARGET_DIR (default target).
set -eu

if [ $# -ne 1 ] || [ "${1#/}" = "$1" ]; then
    echo "usage: cli/install.sh PREFIX (an absolute path)" >&2
    exit 2
fi
prefix=${1%/}
bindir=${BINDIR:-$prefix/bin}
datadir=${DATADIR:-$prefix/share}
destdir=${DESTDIR:-}

root=$(cd "$(dirname "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$root/$target ;; esac
program=$target/release/gallivant
if [ ! -f "$program" ]; then
    echo "cli/install.sh: $program is missing; run make build" >&2
    exit 1
fi

# put MODE SOURCE DIRECTORY NAME
put() {
    mkdir -p "$destdir$3"
    install -m "$1" "$2" "$destdir$3/$4"
    echo "$destdir$3/$4"
}

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
put 755 "$program" "$bindir" gallivant
"$program" pages man "$made"
for page in "$made"/*.1; do
    put 644 "$page" "$datadir/man/man1" "${page##*/}"
done
# complete SHELL DIRECTORY NAME
complete() {
    "$program" pages completions "$1" >"$made/completions"
    put 644 "$made/completions" "$datadir/$2" "$3"
}
complete bash bash-completion/completions gallivant
complete zsh zsh/site-functions _gallivant
complete fish fish/vendor_completions.d gallivant.fish
