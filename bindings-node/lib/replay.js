'use strict'
/**
 * The rows of a run and those to come, as frames: one replay is one asynchronous iterator.
 *
 * What waits for the consumer is in the core, bounded. A task of libuv's pool looks and reads ahead when nothing waits there,
 * and frames are taken from it on this thread, which touches no file. While there is nothing a replay waits for its
 * descriptor, together with all others (`lookout.js`).
 */

const args = require('./arguments.js')
const { Gate, Queue, perform, refuseAborted } = require('./calls.js')
const { inspectable } = require('./inspect.js')
const { lookout } = require('./lookout.js')
const { callSync, native } = require('./native.js')
const { timerMs } = require('./timers.js')

const DONE = Object.freeze({ done: true, value: undefined })

/** So many replays look at a time, or a hundred that are told of one line would take every worker of the pool. */
const looks = new Gate(2)

/** For the file that writes replays to responses. */
const internals = {}

class Replay {
  #directory
  #host
  #lastEventId
  #resumePoint
  #signal
  #onAbort
  /** None before it was opened, by the first who wants a frame. */
  #native = null
  /** Its number while it is open. */
  #number = null
  #turns = new Queue()
  /** The task of the pool that is under way. */
  #task = null
  /** Ends what is waited for at the moment. */
  #stop = null
  /** What the next call throws, once; afterwards the replay is done. */
  #failure = null
  #closing = null

  constructor(directory, { host, lastEventId, signal }) {
    this.#directory = directory
    this.#host = host
    this.#lastEventId = lastEventId
    this.#resumePoint = lastEventId ?? null
    this.#signal = signal
    this.#onAbort = () => this.#fail(signal.reason)
    signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  get directory() { return this.#directory }
  get resumePoint() { return this.#resumePoint }
  get pendingBytes() { return this.#native?.pendingBytes() ?? 0 }
  get closed() { return this.#closing !== null }

  async next() {
    const frame = await this.#inTurn(() => this.#get(takeFrame, Infinity))
    return frame === null ? DONE : { done: false, value: frame }
  }

  async nextFrame(options) {
    const given = args.object('options', options, true)
    args.only('options', given, ['timeoutMs'])
    const timeoutMs = args.optionalUnsigned('timeoutMs', given.timeoutMs)
    const until = timeoutMs === undefined ? Infinity : performance.now() + Number(timeoutMs)
    return this.#inTurn(() => this.#get(takeFrame, until), until)
  }

  async return(value) {
    this.#failure = null
    await this.close()
    return { done: true, value }
  }

  close() {
    if (this.#closing === null) {
      this.#signal?.removeEventListener('abort', this.#onAbort)
      this.#closing = this.#end()
      this.#stop?.()
    }
    return this.#closing
  }

  [Symbol.asyncIterator]() { return this }

  async #end() {
    // What a task works with is closed when it is done: nothing that it opened outlives this.
    await this.#task
    if (this.#native === null) return
    lookout.forget(this.#native)
    this.#native.close()
    await lookout.leave(this.#number)
  }

  /** Runs a call after those that were made before it; answers null where their end is not there by `until`. */
  async #inTurn(action, until = Infinity) {
    const { ready, leave } = this.#turns.enter()
    if (ready !== null && until < Infinity && !await inTime(ready, until)) {
      ready.then(leave)
      return null
    }
    try {
      await ready
      return await action()
    } finally {
      leave()
    }
  }

  /** Who waits, or the next who asks, gets the error; then the replay is done. */
  #fail(error) {
    if (this.closed) return
    this.#failure = { error }
    void this.close()
  }

  /** What `take` takes; null when it is `until`, and when the replay is done. */
  async #get(take, until) {
    for (;;) {
      this.#refuseFailed()
      if (this.closed) return null
      if (this.pendingBytes === 0) {
        await this.#look()
        this.#refuseFailed()
        if (this.closed) return null
      }
      const taken = callSync(() => take(this.#native)) ?? null
      if (taken !== null) {
        this.#resumePoint = callSync(() => this.#native.resumePoint()) ?? null
        return taken
      }
      if (performance.now() >= until) return null
      await this.#rest(until)
    }
  }

  #refuseFailed() {
    if (this.#failure === null) return
    const { error } = this.#failure
    this.#failure = null
    throw error
  }

  async #open() {
    const open = native.NativeReplay.openAsync
    this.#native = await this.#perform((wait) => open(this.#host, this.#directory, this.#lastEventId, wait))
    this.#number = lookout.enter()
  }

  /** Lets a task look, after it has opened what is not open. An error of either is the end of the replay. */
  async #look() {
    const task = async () => {
      if (this.#native === null) await this.#open()
      if (!this.closed) await this.#perform((wait) => this.#native.lookAsync(wait))
    }
    await this.#work(task())
  }

  /** Waits for a task, unless the replay comes to its end before it. */
  async #work(task) {
    this.#task = task.then(() => {}, (error) => this.#fail(error))
    await new Promise((resolve) => {
      this.#stop = resolve
      this.#task.then(resolve)
    })
    this.#stop = null
  }

  #perform(start) { return perform({ wait: args.beginWait(this.#host, {}), gate: looks, start }) }

  /** Waits until it should look, or until it is `until`, or the replay comes to its end. */
  #rest(until) {
    return new Promise((resolve) => {
      let timer
      const end = () => {
        clearTimeout(timer)
        lookout.unlisten(this.#number)
        this.#stop = null
        resolve()
      }
      this.#stop = end
      try {
        const isTold = lookout.listen(this.#number, this.#native, end)
        const dueMs = isTold ? Infinity : callSync(() => this.#native.dueInMs())
        const ms = Math.min(dueMs, until - performance.now())
        if (ms < Infinity) timer = setTimeout(end, timerMs(ms))
      } catch (error) {
        this.#fail(error)
        end()
      }
    })
  }

  static {
    if (Symbol.asyncDispose !== undefined) {
      const close = { async value() { await this.close() }, configurable: true, writable: true }
      Object.defineProperty(this.prototype, Symbol.asyncDispose, close)
    }
    inspectable(this.prototype, 'Replay', ({ directory, resumePoint, closed }) => ({ directory, resumePoint, closed }))
    internals.isReplay = (value) => typeof value === 'object' && value !== null && #native in value
    /** Opens it now, where that is to be known before there is a frame. */
    internals.open = (replay) => replay.#inTurn(async () => {
      if (replay.#native === null && !replay.closed) await replay.#work(replay.#open())
      replay.#refuseFailed()
    })
    /** Calls `wake` when the replay is closed, while its one consumer waits for something else. */
    internals.whenClosed = (replay, wake) => { replay.#stop = wake }
    /** The next server-sent events, until they have so many bytes; null when the replay is done. */
    internals.nextEvents = (replay, most) => (
      replay.#inTurn(() => replay.#get((nativeReplay) => nativeReplay.takeEvents(most), Infinity))
    )
  }
}

/** Whether a promise resolves by `until`. */
function inTime(promise, until) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), timerMs(until - performance.now()))
    promise.then(() => {
      clearTimeout(timer)
      resolve(true)
    })
  })
}

function takeFrame(nativeReplay) { return nativeReplay.take() }

function replay(directory, options) {
  const given = args.object('options', options, true)
  args.only('options', given, ['host', 'lastEventId', 'signal'])
  const [host, signal] = [args.host(given.host), args.signal(given.signal)]
  refuseAborted(signal)
  const lastEventId = args.optionalText('lastEventId', given.lastEventId)
  return new Replay(host.absolute(args.path('directory', directory)), { host, lastEventId, signal })
}

module.exports = { internals, replay }
