#!/bin/sh
# Makes the archive that is installed from the one that cargo has built: ffi/archive.sh BUILT MADE
#
# An archive shows every symbol of its members to the program: those of Rust's standard library, and those of the SQLite
# inside. A program with a SQLite of its own would not link, or would get this one unasked. So the members become one
# object in which only the names of ffi/symbols.txt can be seen, and what they do not need is left out. Sections named
# .llvm* are for compilers, make a fifth of the size and mean nothing once they stand together.
#
# From the environment: LD and OBJCOPY (default ld and objcopy, of GNU binutils), AR. Where objects are not ELF the archive
# stays as it was built.
set -eu

if [ $# -ne 2 ]; then
    echo "usage: ffi/archive.sh BUILT MADE" >&2
    exit 2
fi
symbols=$(cd "$(dirname "$0")" && pwd)/symbols.txt

if [ "$(uname)" != Linux ]; then
    cp "$1" "$2"
    exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2046 # the words are the flags
"${LD:-ld}" -r --gc-sections $(sed 's/^/-u /' "$symbols") -o "$work/whole.o" "$1"
"${OBJCOPY:-objcopy}" --strip-debug --remove-section='.llvm*' --keep-global-symbols="$symbols" \
    "$work/whole.o" "$work/gallivant.o"
rm -f "$2"
"${AR:-ar}" rcs "$2" "$work/gallivant.o"
