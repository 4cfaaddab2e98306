'use strict'
/**
 * Probes: whether the session behind a live record still lives (HS-79 to HS-81, HS-94).
 *
 * A probe that is a function is asked here, never from native code. One that throws, rejects, takes longer than its
 * budget or answers something else than it may has answered `indeterminate`, which downgrades nothing.
 */

const args = require('./arguments.js')

const NO_PROBE = Object.freeze({ lease: false })
const LEASE = Object.freeze({ lease: true })
const ANSWERS = ['alive', 'dead', 'indeterminate']
const INDETERMINATE = 'indeterminate'
/** Node fires a longer timer at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** A probe as the native side takes it, in `parts`, or the function to ask, in `ask`. */
function probeOf(probe) {
  if (probe === undefined || probe === null) return { parts: NO_PROBE }
  if (typeof probe === 'function') return { ask: probe }
  if (probe === 'lease') return { parts: LEASE }
  if (ANSWERS.includes(probe)) return { parts: { lease: false, liveness: probe } }
  if (typeof probe === 'object') return { parts: { lease: false, process: processOf(probe) } }
  throw args.wrong('probe', 'not a probe', 'probe')
}

function processOf(probe) {
  return {
    pid: args.pid('probe.pid', probe.pid),
    start: args.unsigned('probe.start', probe.start),
    boot: args.text('probe.boot', probe.boot),
    pidNamespace: args.text('probe.pidNamespace', probe.pidNamespace),
    host: args.text('probe.host', probe.host),
  }
}

/** Asks a function that answers at once. A promise is no answer. */
function askSync(probe, record, budgetMs) {
  const started = performance.now()
  const answer = attempt(probe, record)
  if (isPromise(answer)) {
    Promise.resolve(answer).catch(() => {})
    return INDETERMINATE
  }
  return within(started, budgetMs, answer)
}

/**
 * Asks a function that answers at once or later, and stops listening when the budget is used up, or when the signal that
 * `abortion` watches has fired.
 */
async function ask(probe, record, budgetMs, abortion) {
  const started = performance.now()
  const answer = attempt(probe, record)
  if (!isPromise(answer)) return within(started, budgetMs, answer)
  let timer
  const tooLate = new Promise((resolve) => {
    timer = setTimeout(resolve, Math.min(budgetMs, LONGEST_TIMER_MS), INDETERMINATE)
  })
  const answered = Promise.resolve(answer).catch(() => INDETERMINATE)
  try {
    return within(started, budgetMs, await abortion.or(Promise.race([answered, tooLate])))
  } finally {
    clearTimeout(timer)
  }
}

function attempt(probe, record) {
  try {
    return probe(record)
  } catch {
    return INDETERMINATE
  }
}

/** An answer that throws when it is looked at is none. */
function isPromise(answer) {
  try {
    return answer !== null && typeof answer === 'object' && typeof answer.then === 'function'
  } catch {
    return false
  }
}

function within(started, budgetMs, answer) {
  return performance.now() - started > budgetMs ? INDETERMINATE : livenessOf(answer)
}

function livenessOf(answer) {
  if (answer === true) return 'alive'
  if (answer === false) return 'dead'
  return ANSWERS.includes(answer) ? answer : INDETERMINATE
}

module.exports = { ask, askSync, probeOf }
