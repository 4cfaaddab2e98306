#!/bin/sh
# What CI checks of the Node package besides its tests: what is packed, that it works where it is installed, its types,
# and what importing it costs. Needs npm; the native module has to be built and in its place.
#
#     sh bindings-node/check.sh
set -eu

package=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$package")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false

say() { printf 'node package: %s\n' "$*"; }

ls "$package"/gallivant.*.node >/dev/null

# The module must never be unloaded: threads that have run its code outlive the environment that loaded it (C-064).
if command -v readelf >/dev/null; then
    for module in "$package"/gallivant.linux-*.node; do
        readelf -d "$module" | grep -q NODELETE || { say "$module may be unloaded" >&2; exit 1; }
    done
fi

# The package, and the native module as a package of its own, which npm installs where it fits.
cpu=$(node -p process.arch)
platform=$package/platforms/linux-$cpu-gnu
mkdir "$work/stage" "$work/stage/main" "$work/stage/native" "$work/installed" "$work/tools"
cp -R "$package/lib" "$package/package.json" "$package/README.md" "$root/LICENSE" "$work/stage/main"
cp "$platform"/* "$root/LICENSE" "$package/gallivant.linux-$cpu-gnu.node" \
    "$package/gallivant-supervise" "$work/stage/native"

for part in main native; do
    (cd "$work/stage/$part" && npm pack --silent --pack-destination "$work" >"$work/name")
    mv "$work/$(cat "$work/name")" "$work/$part.tgz"
    tar -tzf "$work/$part.tgz" | sort >"$work/$part.list"
done
{
    printf 'package/%s\n' LICENSE README.md package.json
    (cd "$package" && find lib -type f | sed 's|^|package/|')
} | sort | diff - "$work/main.list"
printf 'package/%s\n' LICENSE README.md gallivant-supervise "gallivant.linux-$cpu-gnu.node" package.json | diff - "$work/native.list"
say "packed $(wc -l <"$work/main.list") files and $(wc -l <"$work/native.list") of the native module"

cp "$package"/test-types/* "$work/installed"
cd "$work/installed"
npm init --yes --silent >/dev/null
npm install --silent --offline "$work/native.tgz" "$work/main.tgz"
test ! -e node_modules/gallivant/gallivant.linux-*.node
npm install --silent --prefix "$work/tools" typescript@7.0.2 @types/node@20
tsc() { node "$work/tools/node_modules/typescript/bin/tsc" "$@"; }

tsc -p .
say "a typed user program compiles, and its mistakes are found"
printf "import * as gallivant from 'gallivant'\nexport const open = gallivant.Session.start\n" >bare.mts
printf "import * as execution from 'gallivant/execution'\nexport const make = execution.makeExecution\n" >>bare.mts
tsc --ignoreConfig --noEmit --strict --module nodenext --target es2022 --lib es2022 --types '' bare.mts
tsc --ignoreConfig --noEmit --strict --module nodenext --target es2022 --typeRoots "$work/tools/node_modules/@types" --types node bare.mts
printf "import { createServer } from 'node:http'\nimport { pipeReplay } from 'gallivant/journal'\n" >served.mts
printf "createServer((request, response) => { void pipeReplay('/srv/run', response) })\n" >>served.mts
tsc --ignoreConfig --noEmit --strict --module nodenext --target es2022 --typeRoots "$work/tools/node_modules/@types" --types node served.mts
say "the types need neither the DOM's nor Node's, and get on with Node's"

mkdir seat
node out/user.mjs "$work/installed/seat" | grep -q '^typed '
node out/user.cjs | grep -q '^typed '
say "the installed package runs from ESM and from CommonJS"

# The frameworks that people use, with the package as it was packed.
npm install --silent express4@npm:express@4 express5@npm:express@5 fastify@5
cp "$package"/test-frameworks/*.test.mjs .
cat "$root"/docs/guides/idempotency*.md >guide.md
node --test --test-reporter=spec frameworks.test.mjs streams.test.mjs
say "creates with a key, and streams of runs, work in Express 4, Express 5 and Fastify"

node "$package/test-support/import_cost.mjs"
