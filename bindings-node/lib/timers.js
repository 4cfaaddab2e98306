'use strict'
/** How long a timer may be: one of the engine's that is longer fires at once. */

/** The longest, 24.8 days. */
const LONGEST_MS = 2 ** 31 - 1

/** A length as a timer takes it: in whole milliseconds, no less than nothing, and no more than the longest. */
function timerMs(ms) { return Math.min(Math.max(Math.ceil(ms), 0), LONGEST_MS) }

module.exports = { timerMs }
