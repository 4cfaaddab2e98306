'use strict'
/**
 * How much of one turn of the event loop the calls of the execution layer take. What many calls come to arrives at once where the
 * loop was late, and the engine would carry all of it out in one turn; here it is spread over several.
 */

/** After so many milliseconds the rest waits for the next turn. */
const LONGEST_MS = 1
/** Fewer calls than this do not add up to that. */
const FEW = 16

/** When the present turn first came here, by `performance.now()`; null in one that has not. */
let began = null

/** Whether a call that has come to something, while so many run, has to wait for another turn. */
function isOver(running) {
  if (running < FEW) return false
  const now = performance.now()
  if (began !== null) return now - began > LONGEST_MS
  began = now
  setImmediate(() => { began = null })
  return false
}

/** Waits for a turn that has time left. */
async function another() {
  do await new Promise((resolve) => { setImmediate(resolve) })
  while (isOver(FEW))
}

module.exports = { another, isOver }
