'use strict'
/** Reading one agent's record. No lock is taken and nothing is created (HS-69). */

const args = require('./arguments.js')
const { perform, refuseAborted, watch } = require('./calls.js')
const { inspectable } = require('./inspect.js')
const { callSync, native } = require('./native.js')
const { ask, askSync, probeOf } = require('./probe.js')

class ReaderCalls {
  #native
  #host
  #set

  constructor(nativeReader, path, { host, set }) {
    this.#native = nativeReader
    this.path = path
    this.#host = host
    this.#set = set
  }

  async read(options) {
    const { probe, signal } = args.callOptions(options, ['probe'])
    const { parts, ask: question } = probeOf(probe)
    refuseAborted(signal)
    if (question === undefined) {
      return (await this.#perform(signal, (wait) => this.#native.readAsync(parts, wait))) ?? null
    }
    const snapshot = await this.#perform(signal, (wait) => this.#native.snapshotAsync(wait))
    const abortion = watch(signal, { abort: () => true })
    try {
      refuseAborted(signal)
      const answer = callSync(() => snapshot.wantsProbe())
        ? await ask(question, recordOf(snapshot), this.#budgetMs, abortion)
        : 'indeterminate'
      return deriveFrom(snapshot, undefined, answer)
    } finally {
      abortion.end()
    }
  }

  readSync(options) {
    const { probe, signal } = args.callOptions(options, ['probe'])
    const { parts, ask: question } = probeOf(probe)
    refuseAborted(signal)
    if (question === undefined) return callSync(() => this.#native.readSync(parts)) ?? null
    const snapshot = callSync(() => this.#native.snapshotSync())
    const answer = callSync(() => snapshot.wantsProbe())
      ? askSync(question, recordOf(snapshot), this.#budgetMs)
      : 'indeterminate'
    return deriveFrom(snapshot, undefined, answer)
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
    const { probe, nowMs } = args.object('options', options, true)
    args.only('options', options ?? {}, ['probe', 'nowMs'])
    const answer = args.optionalText('options.probe', probe)
    return deriveFrom(this.#native, args.optionalUnsigned('options.nowMs', nowMs), answer)
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

function recordOf(nativeSnapshot) {
  const record = nativeSnapshot.record()
  return record ? Object.freeze(record) : null
}

function deriveFrom(nativeSnapshot, nowMs, answer) {
  return callSync(() => nativeSnapshot.derive(nowMs, answer)) ?? null
}

function openReader(path, options) {
  const { host, set } = args.openOptions(options)
  const where = host.absolute(args.path('path', path))
  return new ReaderCalls(callSync(() => native.NativeReader.open(host, where, set)), where, { host, set })
}

module.exports = { openReader }
