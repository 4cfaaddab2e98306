'use strict'
/** Many states out of one crossing: the other half of `src/harness_state/sheet.rs`. */

const { native } = require('./native.js')

/** For each entry of a sheet so many texts, and so many numbers. */
const TEXTS = 5
const NUMBERS = 5
const IS_THERE = 2 ** 31
const NUMBERS_FROM = 16

let words

/**
 * The entries of a sheet: each has its path, and its state or null. Texts are parsed and not cut out of a long one, which
 * would stay in memory for as long as any of its parts.
 */
function entriesOf({ texts, words: marks, numbers }) {
  words ??= native.stateWords()
  const { state, blockedOn, inputBuffer, ask } = words
  const text = JSON.parse(texts)
  const number = (entry, index) => (
    (marks[entry] >>> (NUMBERS_FROM + index)) & 1 ? numbers[entry * NUMBERS + index] : null
  )
  return Array.from(marks, (mark, entry) => {
    const at = entry * TEXTS
    const path = text[at]
    if (mark < IS_THERE) return { path, state: null }
    return {
      path,
      state: {
        state: state[mark & 15],
        blockedOn: blockedOn[(mark >>> 4) & 15],
        inputBuffer: inputBuffer[(mark >>> 8) & 15],
        ask: ask[(mark >>> 12) & 15],
        harness: text[at + 1],
        sinceMs: number(entry, 0),
        observedAtMs: number(entry, 1),
        ownershipSequence: number(entry, 2),
        transitionSequence: number(entry, 3),
        evidenceIncarnation: text[at + 2],
        exit: text[at + 3],
        reason: text[at + 4],
        validUntilMs: number(entry, 4),
      },
    }
  })
}

module.exports = { entriesOf }
