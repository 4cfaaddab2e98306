'use strict'
/** Reading one agent's record. No lock is taken and nothing is created (HS-69). */

const args = require('./arguments.js')
const { perform, refuseAborted, watch } = require('./calls.js')
const { Explanation } = require('./explanation.js')
const { inspectable } = require('./inspect.js')
const { callSync, internal, native } = require('./native.js')
const { ask, askSync, probeOf } = require('./probe.js')
const { frozen } = require('./record.js')

class ReaderCalls {
  #native
  #host
  #set
  /** Reads without a probe. */
  #reading = null
  /** The answer that was told last, and its number. Whoever asks gets a copy. */
  #told = { mark: 0, state: null }

  constructor(nativeReader, path, { host, set }) {
    this.#native = nativeReader
    this.path = path
    this.#host = host
    this.#set = set
  }

  async read(options) {
    const native = this.#native
    const readNow = (parts, wait) => native.readAsync(parts, wait)
    return (await this.#conclude(options, readNow, (snapshot, answer) => snapshot.derive(undefined, answer))) ?? null
  }

  readSync(options) {
    if (options === undefined) return this.#readAgain()
    const native = this.#native
    const readNow = (parts) => native.readSync(parts)
    return this.#concludeSync(options, readNow, (snapshot, answer) => snapshot.derive(undefined, answer)) ?? null
  }

  /** Without a probe. An answer that is the same as before is copied here, which costs less than bringing it over. */
  #readAgain() {
    let answer
    try {
      this.#reading ??= this.#native.reading()
      answer = this.#reading(this.#told.mark)
    } catch (error) {
      throw internal(error)
    }
    if (answer !== this.#told.mark) this.#told = answer
    const { state } = this.#told
    return state === null ? null : { ...state }
  }

  async explain(options) {
    const native = this.#native
    const explainNow = (parts, wait) => native.explainAsync(parts, wait)
    const explained = await this.#conclude(options, explainNow, (snapshot, answer) => snapshot.explain(undefined, answer))
    return new Explanation(explained)
  }

  explainSync(options) {
    const native = this.#native
    const explainNow = (parts) => native.explainSync(parts)
    return new Explanation(
      this.#concludeSync(options, explainNow, (snapshot, answer) => snapshot.explain(undefined, answer)),
    )
  }

  /** Concludes by `now` where the native side has the probe; else by `later`, from a snapshot and the probe's answer. */
  async #conclude(options, now, later) {
    const { probe, signal } = args.callOptions(options, ['probe'])
    const { parts, ask: question } = probeOf(probe)
    refuseAborted(signal)
    if (question === undefined) return this.#perform(signal, (wait) => now(parts, wait))
    const snapshot = await this.#perform(signal, (wait) => this.#native.snapshotAsync(wait))
    const abortion = watch(signal, { abort: () => true })
    try {
      refuseAborted(signal)
      const answer = callSync(() => snapshot.wantsProbe())
        ? await ask(question, recordOf(snapshot), this.#budgetMs, abortion)
        : 'indeterminate'
      return callSync(() => later(snapshot, answer))
    } finally {
      abortion.end()
    }
  }

  #concludeSync(options, now, later) {
    const { probe, signal } = args.callOptions(options, ['probe'])
    const { parts, ask: question } = probeOf(probe)
    refuseAborted(signal)
    if (question === undefined) return callSync(() => now(parts))
    const snapshot = callSync(() => this.#native.snapshotSync())
    const answer = callSync(() => snapshot.wantsProbe())
      ? askSync(question, recordOf(snapshot), this.#budgetMs)
      : 'indeterminate'
    return callSync(() => later(snapshot, answer))
  }

  async snapshot(options) {
    const { signal } = args.callOptions(options)
    refuseAborted(signal)
    return new Snapshot(await this.#perform(signal, (wait) => this.#native.snapshotAsync(wait)))
  }

  snapshotSync() {
    return new Snapshot(callSync(() => this.#native.snapshotSync()))
  }

  get #budgetMs() { return Number(this.#native.probeBudgetMs()) }

  #perform(signal, start) {
    return perform({ wait: args.beginWait(this.#host, this.#set), signal, start })
  }
}

/** What was found at one moment. Deriving from it reads nothing. */
class Snapshot {
  #native
  #record

  constructor(nativeSnapshot) { this.#native = nativeSnapshot }

  get record() { return (this.#record ??= recordOf(this.#native)) }
  get damage() { return this.#native.damage() ?? null }
  get takenAtMs() { return this.#native.takenAtMs() }

  wantsProbe(nowMs) {
    const now = args.optionalUnsigned('nowMs', nowMs)
    return callSync(() => this.#native.wantsProbe(now))
  }

  derive(options) {
    const { now, answer } = judgedBy(options)
    return callSync(() => this.#native.derive(now, answer)) ?? null
  }

  explain(options) {
    const { now, answer } = judgedBy(options)
    return new Explanation(callSync(() => this.#native.explain(now, answer)))
  }

  static {
    inspectable(this.prototype, 'Snapshot', (snapshot) => {
      const { takenAtMs, damage, record } = snapshot
      if (record === null) return { takenAtMs, record, damage }
      const { incarnation, ...seen } = record
      return { takenAtMs, record: seen, damage }
    })
  }
}

/** With which answer of a probe, and at which instant. */
function judgedBy(options) {
  const { probe, nowMs } = args.object('options', options, true)
  args.only('options', options ?? {}, ['probe', 'nowMs'])
  return { now: args.optionalUnsigned('options.nowMs', nowMs), answer: args.optionalText('options.probe', probe) }
}

function recordOf(nativeSnapshot) {
  const record = nativeSnapshot.record()
  return record ? frozen(record) : null
}

function openReader(path, options) {
  const { host, set } = args.openOptions(options)
  const where = host.absolute(args.path('path', path))
  return new ReaderCalls(callSync(() => native.NativeReader.open(host, where, set)), where, { host, set })
}

module.exports = { openReader }
