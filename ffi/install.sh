#!/bin/sh
# Installs the C library from the last release build: ffi/install.sh PREFIX
#
# Puts down the shared library with the links of its soname, the archive, the header, gallivant.pc and the man page, and the
# supervisor of local runs where it was built, and prints each file. From the environment: DESTDIR (a staging root that is in no
# file), LIBDIR, INCLUDEDIR and MANDIR (default PREFIX/lib, PREFIX/include and PREFIX/share/man), CARGO_TARGET_DIR (default
# target), BUILT (where the two libraries are, default the release folder of that), SUPERVISOR (default beside that).
set -eu

if [ $# -ne 1 ] || [ "${1#/}" = "$1" ]; then
    echo "usage: ffi/install.sh PREFIX (an absolute path)" >&2
    exit 2
fi
prefix=${1%/}
libdir=${LIBDIR:-$prefix/lib}
includedir=${INCLUDEDIR:-$prefix/include}
mandir=${MANDIR:-$prefix/share/man}
destdir=${DESTDIR:-}

root=$(cd "$(dirname "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$root/$target ;; esac
built=${BUILT:-$target/release}
supervisor=${SUPERVISOR:-$target/supervise/gallivant-supervise}
header=$root/include/gallivant.h
version=$(sed -n 's/^#define GALLIVANT_VERSION "\(.*\)"$/\1/p' "$header")
major=${version%%.*}
# What the standard library inside the archive needs, as `cargo rustc -- --print native-static-libs` names it.
private="-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc"

for library in libgallivant.so libgallivant.a; do
    if [ ! -f "$built/$library" ]; then
        echo "ffi/install.sh: $built/$library is missing; run cargo build --release -p libgallivant" >&2
        exit 1
    fi
done

# put MODE SOURCE DIRECTORY NAME
put() {
    mkdir -p "$destdir$3"
    install -m "$1" "$2" "$destdir$3/$4"
    echo "$destdir$3/$4"
}

put 755 "$built/libgallivant.so" "$libdir" "libgallivant.so.$version"
for link in "libgallivant.so.$major" libgallivant.so; do
    ln -sf "libgallivant.so.$version" "$destdir$libdir/$link"
    echo "$destdir$libdir/$link"
done
# Beside the library, where the library looks for it.
if [ -f "$supervisor" ]; then
    put 755 "$supervisor" "$libdir" gallivant-supervise
fi
archive=$(mktemp)
filled=$(mktemp)
trap 'rm -f "$archive" "$filled"' EXIT
"$root/ffi/archive.sh" "$built/libgallivant.a" "$archive"
put 644 "$archive" "$libdir" libgallivant.a
put 644 "$header" "$includedir" gallivant.h

sed -e "s|@PREFIX@|$prefix|" -e "s|@LIBDIR@|$libdir|" -e "s|@INCLUDEDIR@|$includedir|" \
    -e "s|@VERSION@|$version|" -e "s|@PRIVATE@|$private|" "$root/ffi/gallivant.pc.in" >"$filled"
put 644 "$filled" "$libdir/pkgconfig" gallivant.pc

sed -e "s|@VERSION@|$version|" "$root/ffi/gallivant.3" >"$filled"
put 644 "$filled" "$mandir/man3" gallivant.3
