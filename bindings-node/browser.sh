#!/bin/sh
# The examples of the guides to runs and to a coordinator in a browser, in Chromium. The native module has to be built and in its place.
#
#     sh bindings-node/browser.sh
#
# Chromium is `chromium` on the path, or what CHROMIUM names. Where it is missing, it is installed from Debian's packages if
# that is possible; if not, this fails. GALLIVANT_SKIP_BROWSER=1 leaves it out, knowingly.
set -eu

package=$(cd "$(dirname "$0")" && pwd)
say() { printf 'browser: %s\n' "$*"; }

if [ "${GALLIVANT_SKIP_BROWSER:-}" = 1 ]; then
    say 'NOT TESTED: GALLIVANT_SKIP_BROWSER=1'
    exit 0
fi

CHROMIUM=${CHROMIUM:-chromium}
if ! command -v "$CHROMIUM" >/dev/null && [ "$CHROMIUM" = chromium ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    say 'installs chromium'
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >&2 || true
fi
if ! command -v "$CHROMIUM" >/dev/null; then
    say "THERE IS NO CHROMIUM: nothing was tested, program=\`$CHROMIUM\`" >&2
    say 'put chromium on the path, name it in CHROMIUM, or leave this out by GALLIVANT_SKIP_BROWSER=1' >&2
    exit 1
fi

export CHROMIUM
SCREENSHOT=${SCREENSHOT:-${CARGO_TARGET_DIR:-$package/../target}/coordinator.png}
mkdir -p "$(dirname "$SCREENSHOT")"
export SCREENSHOT
node --test --test-reporter=spec "$package/test-browser/browser.test.mjs" "$package/test-browser/coordinator.test.mjs"
say "what the coordinator's page looked like: $SCREENSHOT"
