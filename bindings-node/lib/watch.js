'use strict'
/**
 * Being told of changes (HS-93): one watch is one thread of the native side and one asynchronous iterator here.
 *
 * The thread waits for a change only while somebody waits in `next`, so a slow listener is told of everything that has
 * happened meanwhile at once, and nothing piles up. An open watch is kept by its thread's bell, and so never collected.
 */

const args = require('./arguments.js')
const { refuseAborted } = require('./calls.js')
const { BOUNDS, asksLeases, boundsOf } = require('./fleet.js')
const { inspectable } = require('./inspect.js')
const { GallivantError } = require('./index.js')
const { callSync, native } = require('./native.js')
const { ask, probeOf } = require('./probe.js')
const { frozen } = require('./record.js')
const { entriesOf, textsOf } = require('./states.js')

const INTERVALS = ['pollIntervalMs', 'probeIntervalMs', 'settleMs']
const DONE = Object.freeze({ done: true, value: undefined })
/** A question that the watch has asked is answered or not; no signal of a call ends it. */
const NEVER = { or: (promise) => promise }

class Watch {
  #path
  #native
  #changeOf
  #probe
  #budgetMs
  #signal
  #onAbort
  /** Those who wait in `next`, in order. */
  #waiting = []
  /** What the next `next` throws, once; afterwards the watch is done. */
  #failure = null
  #isClosed = false
  #closing
  #over

  constructor(path, open, changeOf, { signal, probe, budgetMs }) {
    this.#path = path
    this.#changeOf = changeOf
    this.#probe = probe
    this.#budgetMs = budgetMs
    this.#native = callSync(() => open(() => this.#hear()))
    this.#closing = new Promise((resolve) => { this.#over = resolve })
    this.#signal = signal
    this.#onAbort = () => this.#fail(signal.reason)
    signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  get path() { return this.#path }
  get closed() { return this.#isClosed }

  next() {
    if (this.#failure !== null) {
      const { error } = this.#failure
      this.#failure = null
      return Promise.reject(error)
    }
    if (this.#isClosed) return Promise.resolve(DONE)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#native.want()
    })
  }

  async return(value) {
    this.#failure = null
    await this.close()
    return { done: true, value }
  }

  close() {
    if (!this.#isClosed) {
      this.#isClosed = true
      this.#signal?.removeEventListener('abort', this.#onAbort)
      // Whoever waits for the end must not be left by the process before it.
      this.#native.keepAlive(true)
      this.#native.close()
      for (const { resolve } of this.#waiting.splice(0)) resolve(DONE)
    }
    return this.#closing
  }

  ref() {
    this.#native.keepAlive(true)
    return this
  }

  unref() {
    this.#native.keepAlive(false)
    return this
  }

  [Symbol.asyncIterator]() { return this }

  /** The bell has rung: takes what was told. Throws nothing. */
  #hear() {
    try {
      for (let told = this.#take(); told !== null; told = this.#take()) this.#listen(told)
    } catch (error) {
      this.#fail(error)
    }
  }

  #take() { return callSync(() => this.#native.take()) ?? null }

  #listen({ change, asked, error, isOver }) {
    if (change) this.#tell(this.#changeOf(change))
    else if (asked) void this.#ask(asked)
    else if (error) this.#fail(new GallivantError(error))
    else if (isOver) this.#leave()
  }

  #tell(value) { this.#waiting.shift()?.resolve({ done: false, value }) }

  async #ask({ number, record }) {
    const answer = await ask(this.#probe, frozen(record), this.#budgetMs, NEVER)
    callSync(() => this.#native.answer(number, answer))
  }

  /** Those who wait, or the next who asks, get the error; then the watch is done. */
  #fail(error) {
    if (this.#isClosed) return
    const first = this.#waiting.shift()
    if (first === undefined) this.#failure = { error }
    else first.reject(error)
    void this.close()
  }

  /** The thread is over: it is joined, and nothing is left of it. */
  #leave() {
    void this.close()
    this.#native.join()
    this.#over()
  }

  static {
    const close = { async value() { await this.close() }, configurable: true, writable: true }
    if (Symbol.asyncDispose !== undefined) Object.defineProperty(this.prototype, Symbol.asyncDispose, close)
    inspectable(this.prototype, 'Watch', (watch) => ({ path: watch.#path, closed: watch.#isClosed }))
  }
}

function intervalsOf(options) {
  const intervals = {}
  for (const name of INTERVALS) {
    const given = args.optionalUnsigned(name, options[name])
    if (given !== undefined) intervals[name] = given
  }
  return intervals
}

/** Checks what both kinds of watches have. */
function checked(options, others) {
  const { host, set, signal } = args.openOptions(options, ['signal', 'probe', ...INTERVALS, ...others])
  refuseAborted(signal)
  return { host, set, signal, intervals: intervalsOf(options ?? {}) }
}

function watch(directory, options) {
  const { host, set, signal, intervals } = checked(options, [])
  const { parts, ask: probe } = probeOf(options?.probe)
  const path = host.absolute(args.path('directory', directory))
  const budgetMs = Number(set.probeBudgetMs ?? native.defaultOptions().probeBudgetMs)
  const watched = { ...intervals, path, probe: parts ?? { lease: false }, asks: probe !== undefined }
  const open = (ring) => native.NativeWatch.record(host, watched, set, ring)
  let state = null
  const changeOf = ({ seats, noticing }) => {
    // There is no seat where nothing but the way of noticing is another.
    for (const seat of entriesOf(seats, textsOf(seats))) state = seat.state
    return { state, noticing }
  }
  return new Watch(path, open, changeOf, { signal, probe, budgetMs })
}

function watchFleet(root, options) {
  const { host, set, signal, intervals } = checked(options, BOUNDS)
  const [bounds, lease] = [boundsOf(options ?? {}), asksLeases(options?.probe)]
  const path = host.absolute(args.path('root', root))
  const watched = { ...intervals, path, probe: { lease }, asks: false }
  const open = (ring) => native.NativeWatch.fleet(host, watched, bounds, set, ring)
  const changeOf = ({ seats, leftOut, noticing }) => ({ seats: entriesOf(seats, textsOf(seats)), leftOut, noticing })
  return new Watch(path, open, changeOf, { signal })
}

module.exports = { watch, watchFleet }
