'use strict'
/** Many states out of one crossing: the other half of `src/harness_state/sheet.rs`. */

const { native } = require('./native.js')

/** For each entry so many words, the places of its texts among them, and so many numbers. */
const WORDS = 6
const NUMBERS = 5
const IS_THERE = 2 ** 31
const NUMBERS_FROM = 16

let words

/**
 * The texts of a sheet, parsed and not cut out of a long one, which would stay in memory for as long as any of its parts.
 */
function textsOf({ texts }) { return JSON.parse(texts) }

/** The entries of a sheet: each has its path, and its state or null. */
function entriesOf({ words: marks, numbers }, text) {
  words ??= native.stateWords()
  const { state, blockedOn, inputBuffer, ask } = words
  const entries = []
  for (let at = 0, number = 0; at < marks.length; at += WORDS, number += NUMBERS) {
    const mark = marks[at]
    const path = text[marks[at + 1]]
    if (mark < IS_THERE) {
      entries.push({ path, state: null })
      continue
    }
    const has = mark >>> NUMBERS_FROM
    entries.push({
      path,
      state: {
        state: state[mark & 15],
        blockedOn: blockedOn[(mark >>> 4) & 15],
        inputBuffer: inputBuffer[(mark >>> 8) & 15],
        ask: ask[(mark >>> 12) & 15],
        harness: text[marks[at + 2]],
        sinceMs: has & 1 ? numbers[number] : null,
        observedAtMs: has & 2 ? numbers[number + 1] : null,
        ownershipSequence: has & 4 ? numbers[number + 2] : null,
        transitionSequence: has & 8 ? numbers[number + 3] : null,
        evidenceIncarnation: text[marks[at + 3]],
        exit: text[marks[at + 4]],
        reason: text[marks[at + 5]],
        validUntilMs: has & 16 ? numbers[number + 4] : null,
      },
    })
  }
  return entries
}

module.exports = { entriesOf, textsOf }
