'use strict'
/**
 * Waiting for creates that run, without holding a worker of libuv's pool or a thread each.
 *
 * One thread for each store listens while anybody waits (`src/idempotency/ear.rs`). When it rings, each who waits looks,
 * and so does each whose pause is over: what is not told of is the death of an owner, and where the system tells nothing,
 * pauses are short.
 */

const { timerMs } = require('./timers.js')

/** Those who wait for a create of one store, and what they listen with. */
class Ears {
  #listen
  #waiters = new Set()
  #native = null
  #hears = false
  /** The thread has come to its end by itself: the system does not tell. It is not begun again while anybody waits. */
  #isDeaf = false

  /** `listen(bell)` begins to listen and answers the native object. */
  constructor(listen) { this.#listen = listen }

  /** One more who waits: `hasHeard` says whether the bell has rung since it was asked last. Call `leave` once. */
  enter() {
    const waiter = { hasRung: false, wake: null }
    this.#waiters.add(waiter)
    if (this.#native === null && !this.#isDeaf) this.#begin()
    return waiter
  }

  leave(waiter) {
    this.#waiters.delete(waiter)
    if (this.#waiters.size > 0) return
    this.#isDeaf = false
    this.#hears = false
    this.#native?.close()
    this.#native = null
  }

  get hears() { return this.#hears }

  #begin() {
    const ear = this.#listen(() => this.#heed(ear))
    this.#native = ear
  }

  /** The bell of `ear` has rung. One that was left already says only that it is over. */
  #heed(ear) {
    const hears = ear.hears()
    if (ear.isOver()) ear.join()
    if (ear !== this.#native) return
    this.#hears = hears
    if (ear.isOver()) {
      this.#native = null
      this.#isDeaf = true
    }
    for (const waiter of this.#waiters) {
      waiter.hasRung = true
      waiter.wake?.()
    }
  }
}

/**
 * Looks until the create has ended, and answers what the last look did. `look(name, deadlineMs)` makes one look;
 * `next(parts)` takes what a look has found still running; `pauseMs(hasNotices)` is how long to pause at most.
 *
 * The first look comes before there is a listener, and the listener's first ring brings one more, so that nothing falls
 * in between.
 */
async function untilEnded(ears, { look, next, pauseMs, deadlineMs, signal }) {
  const until = deadlineMs === undefined ? Infinity : performance.now() + Number(deadlineMs)
  let waiter = null
  try {
    for (;;) {
      const left = until - performance.now()
      // The core's own words for a create that still runs at the deadline.
      if (left <= 0) return await look('lastLookAsync', 1n)
      if (waiter !== null) waiter.hasRung = false
      const parts = await look('lookAsync', left === Infinity ? undefined : BigInt(Math.ceil(left)))
      if (parts.kind !== 'in_progress') return parts
      next(parts)
      waiter ??= ears.enter()
      await pause(waiter, Math.min(pauseMs(ears.hears), until - performance.now()), signal)
    }
  } finally {
    if (waiter !== null) ears.leave(waiter)
  }
}

/** Pauses until the bell rings, for so long at most. Rejects with the signal's reason. */
function pause(waiter, ms, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    if (waiter.hasRung) return resolve()
    const end = (settle) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      waiter.wake = null
      settle()
    }
    const onAbort = () => end(() => reject(signal.reason))
    const timer = setTimeout(() => end(resolve), timerMs(ms))
    waiter.wake = () => end(resolve)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

module.exports = { Ears, untilEnded }
