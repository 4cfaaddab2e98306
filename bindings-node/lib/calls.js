'use strict'
/**
 * How an asynchronous call runs: in order, in tries, and ended by its signal.
 *
 * - In order: the calls of one writer are made one after another, in the order in which they were begun, because a
 *   pool's workers would mix them up (`Queue`).
 * - In tries: a try that finds the lock held answers `againMs` and is made again after that pause, so that waiting
 *   holds no worker of the pool (`src/waiting.rs`).
 * - Ended by its signal: a call whose signal has fired before it begins runs nothing. While it waits, in its queue, in a
 *   pause or for a worker, it is rejected at once with the signal's reason and has written nothing. A try that is past
 *   the lock is finished, and what it has done is the answer: a record that stands is never reported as aborted.
 */

const { unwrap, internal } = require('./native.js')

/** Gives calls their turn, in order. */
class Queue {
  #tail = null

  /** Takes the next turn: `ready` is null when it is now. `leave` must be called once. */
  enter() {
    const ready = this.#tail
    let leave
    const left = new Promise((resolve) => { leave = resolve })
    const tail = ready === null ? left : ready.then(() => left)
    this.#tail = tail
    tail.then(() => { if (this.#tail === tail) this.#tail = null })
    return { ready, leave }
  }

  /** Whether nobody has a turn. */
  get isIdle() { return this.#tail === null }

  /** Runs `action` when every call before it is done: now, if there is none. */
  afterwards(action) {
    if (this.#tail === null) return action()
    const { ready, leave } = this.enter()
    ready.then(action).then(leave, leave)
  }

  /** Resolves when every call that has been begun is done. */
  async idle() { await this.#tail }
}

/** Lets at most `width` actions run at once, so that what must wait on a worker leaves the others free. */
class Gate {
  #free
  #waiting = []

  constructor(width) { this.#free = width }

  async run(action) {
    if (this.#free > 0) this.#free -= 1
    else await new Promise((resolve) => this.#waiting.push(resolve))
    try {
      return await action()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }
}

/**
 * Calls that wait on a worker by their nature: a claim for the sibling's lock and a session for its lease while they
 * hold the record's lock, for about a second at most, and a hook for a quarter of a second.
 */
const slow = new Gate(2)

/**
 * Makes a call. `wait` is its native wait, `start` makes one try with it and answers a promise. Resolves to the
 * answer's value, or rejects with its error, or with the signal's reason.
 */
async function perform({ wait, start, signal, queue, gate }) {
  const abortion = watch(signal, wait)
  const turn = queue?.enter()
  try {
    if (turn?.ready) await abortion.or(turn.ready)
    for (;;) {
      const answer = await abortion.or(gate === undefined ? start(wait) : gate.run(() => start(wait)))
      if (answer.aborted) throw signal.reason
      if (answer.againMs === undefined) return unwrap(answer)
      await pause(answer.againMs, abortion)
    }
  } catch (error) {
    throw signal?.aborted && error === signal.reason ? error : internal(error)
  } finally {
    turn?.leave()
    abortion.end()
  }
}

/** Watches a signal for a call. `or` races a promise against the signal. */
function watch(signal, wait) {
  if (signal === undefined) return { or: (promise) => promise, end() {} }
  let onAbort
  const aborted = new Promise((_, reject) => {
    // Where a try is running, its own answer comes at the next pause and says whether anything was written.
    onAbort = () => { if (wait.abort()) reject(signal.reason) }
  })
  aborted.catch(() => {})
  signal.addEventListener('abort', onAbort, { once: true })
  return {
    or: (promise) => Promise.race([promise, aborted]),
    end: () => signal.removeEventListener('abort', onAbort),
  }
}

async function pause(ms, abortion) {
  let timer
  try {
    await abortion.or(new Promise((resolve) => { timer = setTimeout(resolve, ms) }))
  } finally {
    clearTimeout(timer)
  }
}

/** Throws the signal's reason if it has fired: before anything runs. */
function refuseAborted(signal) {
  if (signal?.aborted) throw signal.reason
}

module.exports = { Gate, Queue, perform, refuseAborted, slow, watch }
