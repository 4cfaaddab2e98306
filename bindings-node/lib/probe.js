'use strict'
/**
 * Probes: whether the session behind a live record still lives (HS-79 to HS-81, HS-94).
 *
 * A probe that is a function is asked here, never from native code. One that throws, rejects, takes longer than its
 * budget or answers something else than it may has answered `indeterminate`, which downgrades nothing.
 */

const args = require('./arguments.js')
const { errorOf } = require('./native.js')
const { timerMs } = require('./timers.js')

const NO_PROBE = Object.freeze({ lease: false })
const LEASE = Object.freeze({ lease: true })
const ANSWERS = ['alive', 'dead', 'indeterminate']
const INDETERMINATE = 'indeterminate'

/** A probe as the native side takes it, in `parts`, or the function to ask, in `ask`. */
function probeOf(probe) {
  if (probe === undefined || probe === null) return { parts: NO_PROBE }
  if (typeof probe === 'function') return { ask: probe }
  if (probe === 'lease') return { parts: LEASE }
  if (ANSWERS.includes(probe)) return { parts: { lease: false, liveness: probe } }
  if (typeof probe === 'object') return { parts: { lease: false, process: processOf(probe) } }
  throw notProbe('a probe is lease, alive, dead or indeterminate, a process identity, or a function', probe)
}

/** An error that says what a probe is, with what was given: a word itself, of anything else its type. */
function notProbe(wanted, given) {
  const shown = typeof given === 'string' ? given.replace(/[\r\n]+/g, ' ') : typeof given
  return errorOf('HARNESS_STATE_INPUT', 'probe', `${wanted}, given=\`${shown}\``)
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
  const then = thenOf(answer)
  if (then !== undefined) {
    // Listened to all the same: a rejection that nobody hears would end the process.
    void settled(answer, then)
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
  const then = thenOf(answer)
  if (then === undefined) return within(started, budgetMs, answer)
  let timer
  const tooLate = new Promise((resolve) => {
    timer = setTimeout(resolve, timerMs(budgetMs), INDETERMINATE)
  })
  try {
    return within(started, budgetMs, await abortion.or(Promise.race([settled(answer, then), tooLate])))
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

/** The `then` of a promise; undefined where there is none. An answer that throws when it is looked at has none. */
function thenOf(answer) {
  try {
    const then = answer !== null && typeof answer === 'object' ? answer.then : undefined
    return typeof then === 'function' ? then : undefined
  } catch {
    return undefined
  }
}

/**
 * What a promise says. It need not be Node's own, so its `then` may do anything: where it throws, rejects, or says a
 * second thing before the first was heard, it has said nothing. What it says is not waited for in turn, because a
 * promise that says itself would never let another timer fire. Never rejects.
 */
async function settled(answer, then) {
  const said = new Promise((resolve, reject) => {
    let words = 0
    const say = (word) => {
      words += 1
      // Heard a little later, and in an array: a promise of Node's would wait for a word that has a `then`.
      queueMicrotask(() => resolve([words === 1 ? word : INDETERMINATE]))
    }
    Reflect.apply(then, answer, [say, reject])
  })
  try {
    return livenessOf((await said)[0])
  } catch {
    return INDETERMINATE
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

module.exports = { ask, askSync, notProbe, probeOf }
