'use strict'
/**
 * A writer: one session's voice in one agent's directory, and the guard that proves its ownership.
 *
 * The asynchronous calls of one writer are made in the order in which they were begun. A `Sync` call is made at once, and
 * so before those that still wait.
 */

const args = require('./arguments.js')
const { Queue, perform, refuseAborted } = require('./calls.js')
const { inspectable } = require('./inspect.js')
const { callSync, failure, native } = require('./native.js')

const OBSERVATION = ['state', 'blockedOn', 'inputBuffer', 'ask', 'reason', 'exit']

/** What an observation did, as JavaScript sees it. */
function reportOf(parts) {
  return { outcome: parts.outcome, refusal: parts.refusal, floorFailure: failure(parts.floorFailure) }
}

function heartbeatOf(parts) {
  return { outcome: parts.outcome, skip: parts.skip, floorFailure: failure(parts.floorFailure) }
}

function observationOf(given) {
  const seen = args.object('observation', given)
  args.only('observation', seen, OBSERVATION)
  const parts = { state: args.text('observation.state', seen.state) }
  for (const name of OBSERVATION.slice(1)) parts[name] = args.optionalText(`observation.${name}`, seen[name])
  return parts
}

class WriterCalls {
  #native
  #context
  #queue

  /** `context` is `{ host, set, directory, identity }`. A session's writer shares the session's queue. */
  constructor(nativeWriter, context, queue = new Queue()) {
    this.#native = nativeWriter
    this.#context = context
    this.#queue = queue
  }

  get directory() { return this.#context.directory }
  get identity() { return this.#context.identity }
  get sequence() { return callSync(() => this.#native.sequence()) ?? null }

  /** What a person is shown. */
  seen() {
    const { token, ...who } = this.identity
    try {
      return { directory: this.directory, ...who, sequence: this.sequence }
    } catch {
      return { directory: this.directory, ...who, closed: true }
    }
  }

  /** Takes its place among the calls that were begun before it. */
  interrupt() {
    this.#queue.afterwards(() => callSync(() => this.#native.interrupt()))
  }

  async observe(observation, options) {
    const seen = observationOf(observation)
    return reportOf(await this.#perform(options, (wait) => this.#native.observeAsync(seen, wait)))
  }

  observeSync(observation) {
    const seen = observationOf(observation)
    return reportOf(callSync(() => this.#native.observeSync(seen)))
  }

  async observeUnlessEnded(observation, options) {
    const seen = observationOf(observation)
    return reportOf(await this.#perform(options, (wait) => this.#native.observeUnlessEndedAsync(seen, wait)))
  }

  observeUnlessEndedSync(observation) {
    const seen = observationOf(observation)
    return reportOf(callSync(() => this.#native.observeUnlessEndedSync(seen)))
  }

  async ended(exit, options) {
    const how = args.optionalText('exit', exit)
    return reportOf(await this.#perform(options, (wait) => this.#native.endedAsync(how, wait)))
  }

  endedSync(exit) {
    const how = args.optionalText('exit', exit)
    return reportOf(callSync(() => this.#native.endedSync(how)))
  }

  async noteChild(id, step, options) {
    const [child, what] = [args.text('id', id), args.text('step', step)]
    return reportOf(await this.#perform(options, (wait) => this.#native.noteChildAsync(child, what, wait)))
  }

  noteChildSync(id, step) {
    const [child, what] = [args.text('id', id), args.text('step', step)]
    return reportOf(callSync(() => this.#native.noteChildSync(child, what)))
  }

  async heartbeat(options) {
    return heartbeatOf(await this.#perform(options, (wait) => this.#native.heartbeatAsync(wait)))
  }

  heartbeatSync() {
    return heartbeatOf(callSync(() => this.#native.heartbeatSync()))
  }

  async lockCurrentOwnership(options) {
    const { signal } = args.callOptions(options)
    const guard = guardOf(await this.#perform(options, (wait) => this.#native.lockAsync(wait)))
    if (guard !== null && signal?.aborted) {
      guard.release()
      throw signal.reason
    }
    return guard
  }

  lockCurrentOwnershipSync() {
    return guardOf(callSync(() => this.#native.lockSync()))
  }

  async withCurrentOwnership(action, options) {
    const guard = await this.lockCurrentOwnership(options)
    if (guard === null) return { owned: false, value: undefined }
    try {
      return { owned: true, value: await action(guard) }
    } finally {
      guard.release()
    }
  }

  withCurrentOwnershipSync(action) {
    const guard = this.lockCurrentOwnershipSync()
    if (guard === null) return { owned: false, value: undefined }
    try {
      return { owned: true, value: action(guard) }
    } finally {
      guard.release()
    }
  }

  async #perform(options, start) {
    const { signal } = args.callOptions(options)
    refuseAborted(signal)
    const { host, set } = this.#context
    return perform({ wait: args.beginWait(host, set), signal, queue: this.#queue, start })
  }
}

/** Holds the record's lock until it is released. */
class OwnershipGuard {
  #native
  #released = false

  constructor(nativeGuard) { this.#native = nativeGuard }

  get sequence() { return callSync(() => this.#native.sequence()) }

  release() {
    callSync(() => this.#native.release())
    this.#released = true
  }

  static {
    const release = { value() { this.release() }, configurable: true, writable: true }
    if (Symbol.dispose !== undefined) Object.defineProperty(this.prototype, Symbol.dispose, release)
    inspectable(this.prototype, 'OwnershipGuard', (guard) => (
      guard.#released ? { released: true } : { sequence: guard.sequence, released: false }
    ))
  }
}

function guardOf(nativeGuard) {
  return nativeGuard ? new OwnershipGuard(nativeGuard) : null
}

/** Opens a writer; `identity` may be a SessionEnvironment, whose directory is the one that was given. */
function openWriter(directory, identity, options) {
  const who = args.object('identity', identity)
  args.only('identity', who, ['agent', 'harness', 'token', 'ptySession', 'sequence', 'evidence', 'agentDir'])
  const { host, set } = args.openOptions(options)
  const parts = {
    directory: host.absolute(args.path('directory', directory)),
    agent: args.text('identity.agent', who.agent),
    harness: args.text('identity.harness', who.harness),
    token: args.text('identity.token', who.token),
    ptySession: args.optionalText('identity.ptySession', who.ptySession),
    sequence: args.optionalUnsigned('identity.sequence', who.sequence),
    evidence: args.optionalText('identity.evidence', who.evidence),
  }
  const nativeWriter = callSync(() => native.NativeWriter.open(host, parts, set))
  return new WriterCalls(nativeWriter, { host, set, directory: parts.directory, identity: identityOf(parts) })
}

/** Who writes, as JavaScript sees it. */
function identityOf({ agent, harness, token, ptySession }) {
  return Object.freeze({ agent, harness, token, ptySession: ptySession ?? null })
}

module.exports = { WriterCalls, identityOf, openWriter, reportOf }
