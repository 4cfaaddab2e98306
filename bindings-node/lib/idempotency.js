'use strict'
/**
 * Idempotent creates: a store, and what it answers. Types and documentation are in `creates.d.ts`.
 *
 * A store has one connection, so two of its calls at most are on libuv's pool at a time: one at work, and one that is
 * ready behind it. The calls of one reservation are made in the order in which they were begun. A `Sync` call is made at
 * once, and so before those that still wait.
 */

const args = require('./arguments.js')
const { Gate, Queue, perform, refuseAborted } = require('./calls.js')
const { Ears, untilEnded } = require('./ears.js')
const { Fingerprint } = require('./index.js')
const { inspectable } = require('./inspect.js')
const { callSync, failure, native } = require('./native.js')

const OPTIONS = ['windowMs', 'maxReservationMs', 'maxAnswerBytes', 'busyMs']

/** A call's own options, as the native side takes them. */
function callOf(options) {
  const { signal, deadlineMs } = args.callOptions(options, ['deadlineMs'])
  return { signal, deadlineMs: args.optionalUnsigned('deadlineMs', deadlineMs) }
}

/** The deadline of a `Sync` call. */
function deadlineOf(options) {
  const given = args.object('options', options, true)
  args.only('options', given, ['deadlineMs'])
  return args.optionalUnsigned('deadlineMs', given.deadlineMs)
}

function askOf(operation, scope, key) {
  return { operation: args.text('operation', operation), scope: args.texts('scope', scope), key: args.text('key', key) }
}

/** The fingerprint of a body as it is now: it is taken before the call returns. */
function fingerprintOf(body) {
  return body instanceof Fingerprint ? body.digest() : native.fingerprintOf(args.bytes('body', body))
}

class StoreCalls {
  #native
  #gate = new Gate(2)
  #ears = new Ears((bell) => callSync(() => this.#native.listen(bell)))

  constructor(nativeStore, path, options) {
    this.#native = nativeStore
    this.path = path
    this.options = options
  }

  async begin(operation, scope, key, body, options) {
    const [ask, fingerprint, call] = [askOf(operation, scope, key), fingerprintOf(body), callOf(options)]
    refuseAborted(call.signal)
    const start = (wait) => this.#native.beginAsync(ask, fingerprint, wait)
    return unlessAborted(this.answerOf(await this.perform(call, start)), call.signal)
  }

  beginSync(operation, scope, key, body, options) {
    const ask = askOf(operation, scope, key)
    const isFingerprint = body instanceof Fingerprint
    const bytes = isFingerprint ? body.digest() : args.bytes('body', body)
    const deadlineMs = deadlineOf(options)
    return this.answerOf(
      callSync(() => this.#native.beginSync(ask.operation, ask.scope, ask.key, bytes, isFingerprint, deadlineMs)),
    )
  }

  async inspect(operation, scope, key, options) {
    const [ask, { signal }] = [askOf(operation, scope, key), args.callOptions(options)]
    refuseAborted(signal)
    return (await this.perform({ signal }, (wait) => this.#native.inspectAsync(ask, wait))) ?? null
  }

  inspectSync(operation, scope, key) {
    const ask = askOf(operation, scope, key)
    return callSync(() => this.#native.inspectSync(ask)) ?? null
  }

  async sweep(options) {
    const { signal } = args.callOptions(options)
    refuseAborted(signal)
    return this.perform({ signal }, (wait) => this.#native.sweepAsync(wait))
  }

  sweepSync() { return callSync(() => this.#native.sweepSync()) }

  async capability(options) {
    const { signal } = args.callOptions(options)
    refuseAborted(signal)
    return capabilityOf(await this.perform({ signal }, (wait) => this.#native.capabilityAsync(wait)))
  }

  capabilitySync() { return capabilityOf(callSync(() => this.#native.capabilitySync())) }

  noticeSleep() { callSync(() => this.#native.noticeSleep()) }

  async close() { await this.perform({}, (wait) => this.#native.closeAsync(wait)) }

  closeSync() { callSync(() => this.#native.closeSync()) }

  /** Makes a call on this store, or on something that it has handed out. */
  perform({ signal, deadlineMs }, start, queue) {
    const wait = callSync(() => this.#native.beginWait(deadlineMs))
    return perform({ wait, signal, queue, gate: this.#gate, start })
  }

  /** Waits for the create of a ticket. */
  async wait(ticket, { signal, deadlineMs }) {
    const look = (name, left) => this.perform({ signal, deadlineMs: left }, (wait) => ticket[name](wait))
    const ended = await untilEnded(this.#ears, { look, next: (parts) => { ticket = parts.ticket }, deadlineMs, signal,
      pauseMs: (hasNotices) => callSync(() => ticket.nextLookMs(hasNotices)) })
    return unlessAborted(this.answerOf(ended), signal)
  }

  /** What a store has answered, as JavaScript sees it. */
  answerOf(parts) {
    if (parts.reservation) return new Reservation(this, parts)
    if (parts.finished) return new FinishedClaim(this, parts)
    if (parts.ticket) return new Ticket(this, parts)
    return new UnknownClaim(this, parts)
  }
}

function capabilityOf(parts) {
  const error = failure(parts ?? null)
  return { keyedCreates: error === null, error }
}

/** Whoever is told that the call was aborted holds nothing. */
async function unlessAborted(begin, signal) {
  if (!signal?.aborted) return begin
  if (begin instanceof Reservation) await begin.abandon()
  throw signal.reason
}

/** The right to make the thing. */
class Reservation {
  #store
  #native
  #how
  #queue = new Queue()
  #isOver = false

  constructor(store, { reservation, how }) {
    this.#store = store
    this.#native = reservation
    this.#how = how
  }

  get kind() { return 'create' }
  get how() { return this.#how }

  async complete(resource, answer, options) {
    const [made, call] = [args.text('resource', resource), callOf(options)]
    // As it is now, whatever becomes of it while the call waits for its turn.
    const saved = Uint8Array.from(args.bytes('answer', answer))
    await this.#perform(call, (wait) => this.#native.completeAsync(made, saved, wait))
    this.#isOver = true
  }

  completeSync(resource, answer, options) {
    const [made, saved, deadlineMs] = [args.text('resource', resource), args.bytes('answer', answer), deadlineOf(options)]
    callSync(() => this.#native.completeSync(made, saved, deadlineMs))
    this.#isOver = true
  }

  async release(options) {
    await this.#perform(callOf(options), (wait) => this.#native.releaseAsync(wait))
    this.#isOver = true
  }

  releaseSync(options) {
    const deadlineMs = deadlineOf(options)
    callSync(() => this.#native.releaseSync(deadlineMs))
    this.#isOver = true
  }

  async effectStarting(options) {
    await this.#perform(callOf(options), (wait) => this.#native.effectStartingAsync(wait))
  }

  effectStartingSync(options) {
    const deadlineMs = deadlineOf(options)
    callSync(() => this.#native.effectStartingSync(deadlineMs))
  }

  async keepAlive(options) {
    await this.#perform(callOf(options), (wait) => this.#native.keepAliveAsync(wait))
  }

  keepAliveSync(options) {
    const deadlineMs = deadlineOf(options)
    callSync(() => this.#native.keepAliveSync(deadlineMs))
  }

  async abandon() {
    if (this.#isOver && this.#queue.isIdle) return
    await this.#perform({}, (wait) => this.#native.abandonAsync(wait))
    this.#isOver = true
  }

  abandonSync() {
    callSync(() => this.#native.abandonSync())
    this.#isOver = true
  }

  async #perform(call, start) {
    refuseAborted(call.signal)
    await this.#store.perform(call, start, this.#queue)
  }

  static {
    const define = (symbol, value) => {
      if (symbol !== undefined) Object.defineProperty(this.prototype, symbol, { value, configurable: true, writable: true })
    }
    define(Symbol.dispose, function () { this.abandonSync() })
    define(Symbol.asyncDispose, function () { return this.abandon() })
    inspectable(this.prototype, 'Reservation', ({ kind, how }) => ({ kind, how }))
  }
}

/** What the first create made. */
class FinishedClaim {
  #store
  #native

  constructor(store, { finished, how, resource, answer, completedMs }) {
    this.#store = store
    this.#native = finished
    this.how = how
    this.resource = resource
    this.answer = answer ?? null
    this.completedMs = completedMs
    Object.freeze(this)
  }

  get kind() { return 'replay' }

  async recreate(options) {
    const call = callOf(options)
    refuseAborted(call.signal)
    return this.#store.answerOf(await this.#store.perform(call, (wait) => this.#native.recreateAsync(wait)))
  }

  recreateSync(options) {
    const deadlineMs = deadlineOf(options)
    return this.#store.answerOf(callSync(() => this.#native.recreateSync(deadlineMs)))
  }

  async stillStands(options) {
    const { signal } = args.callOptions(options)
    refuseAborted(signal)
    return this.#store.perform({ signal }, (wait) => this.#native.stillStandsAsync(wait))
  }

  stillStandsSync() { return callSync(() => this.#native.stillStandsSync()) }

  static {
    inspectable(this.prototype, 'FinishedClaim', ({ kind, how, resource, answer, completedMs }) => (
      { kind, how, resource, answer, completedMs }
    ))
  }
}

/** A create that runs. */
class Ticket {
  #store
  #native
  #how

  constructor(store, { ticket, how }) {
    this.#store = store
    this.#native = ticket
    this.#how = how
  }

  get kind() { return 'in_progress' }
  get how() { return this.#how }

  async look(options) {
    const call = callOf(options)
    refuseAborted(call.signal)
    const parts = await this.#store.perform(call, (wait) => this.#native.lookAsync(wait))
    return unlessAborted(this.#store.answerOf(parts), call.signal)
  }

  lookSync(options) {
    const deadlineMs = deadlineOf(options)
    return this.#store.answerOf(callSync(() => this.#native.lookSync(deadlineMs)))
  }

  async wait(options) {
    const call = callOf(options)
    refuseAborted(call.signal)
    return this.#store.wait(this.#native, call)
  }

  waitSync(options) {
    const deadlineMs = args.unsigned('deadlineMs', args.object('options', options).deadlineMs)
    return this.#store.answerOf(callSync(() => this.#native.waitSync(deadlineMs)))
  }

  static { inspectable(this.prototype, 'Ticket', ({ kind, how }) => ({ kind, how })) }
}

/** A create of which nobody knows whether it made its thing. */
class UnknownClaim {
  #store
  #native
  #how

  constructor(store, { unknown, how }) {
    this.#store = store
    this.#native = unknown
    this.#how = how
  }

  get kind() { return 'unknown' }
  get how() { return this.#how }

  async settle(found, options) {
    const [resource, call] = [foundOf(found), callOf(options)]
    refuseAborted(call.signal)
    return this.#store.answerOf(await this.#store.perform(call, (wait) => this.#native.settleAsync(resource, wait)))
  }

  settleSync(found, options) {
    const [resource, deadlineMs] = [foundOf(found), deadlineOf(options)]
    return this.#store.answerOf(callSync(() => this.#native.settleSync(resource, deadlineMs)))
  }

  static { inspectable(this.prototype, 'UnknownClaim', ({ kind, how }) => ({ kind, how })) }
}

/** What was found out. Only null says that the thing does not exist: a forgotten argument must not say it. */
function foundOf(found) {
  return found === null ? undefined : args.text('found', found)
}

function checked(path, given) {
  const options = args.object('options', given, true)
  args.only('options', options, ['host', 'signal', ...OPTIONS])
  const set = {}
  for (const name of OPTIONS) {
    const value = args.optionalUnsigned(name, options[name])
    if (value !== undefined) set[name] = value
  }
  const host = args.host(options.host)
  return { host, set, signal: args.signal(options.signal), where: host.absolute(args.path('path', path)) }
}

function storeOf(nativeStore, { where, set }) {
  return new StoreCalls(nativeStore, where, Object.freeze({ ...native.defaultStoreOptions(), ...set }))
}

async function openStore(path, options) {
  const opened = checked(path, options)
  const { host, set, signal, where } = opened
  refuseAborted(signal)
  const wait = callSync(() => native.beginOpen(host, set))
  return storeOf(await perform({ wait, signal, start: (wait) => native.NativeStore.openAsync(host, where, set, wait) }), opened)
}

function openStoreSync(path, options) {
  const opened = checked(path, options)
  const { host, set, signal, where } = opened
  refuseAborted(signal)
  return storeOf(callSync(() => native.NativeStore.openSync(host, where, set)), opened)
}

/** A fingerprint in the making. */
function beginFingerprint() {
  const making = native.NativeFingerprint.begin()
  return {
    update: (part) => making.update(args.bytes('part', part)),
    digest: () => making.digest(),
  }
}

module.exports = { beginFingerprint, openStore, openStoreSync }
