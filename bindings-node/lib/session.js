'use strict'
/**
 * What a wrapper needs in one object: mint, claim, lease, hand over, heartbeat, end.
 *
 * A session that is neither ended nor closed is kept here, so that garbage collection never releases a lease: only
 * `end`, `close`, the end of the environment (process or worker) or its death does.
 */

const args = require('./arguments.js')
const { Queue, perform, refuseAborted, slow } = require('./calls.js')
const { claimOf } = require('./claim.js')
const { environmentOf } = require('./environment.js')
const { callSync, native } = require('./native.js')
const { WriterCalls, identityOf, reportOf } = require('./writer.js')

const live = new Set()

class SessionCalls {
  #native
  #context
  #queue = new Queue()
  #closed = false

  constructor(nativeSession, { host, set }) {
    this.#native = nativeSession
    this.#context = { host, set }
    const environment = callSync(() => nativeSession.environment())
    this.claim = Object.freeze(claimOf(callSync(() => nativeSession.claim())))
    const context = { host, set, directory: environment.agentDir, identity: identityOf(environment) }
    this.writer = new WriterCalls(nativeSession.writer(), context, this.#queue)
    live.add(this)
  }

  get closed() { return this.#closed }
  get holdsLease() { return !this.#closed && callSync(() => this.#native.holdsLease()) }
  get harnessProcess() { return callSync(() => this.#native.harnessProcess()) ?? null }

  /** What a person is shown. */
  seen() {
    const { directory, identity: { token, ...who } } = this.writer
    const { closed, holdsLease, claim: { sequence } } = this
    const harnessPid = closed ? null : this.harnessProcess?.pid ?? null
    return { directory, ...who, sequence, holdsLease, harnessPid, closed }
  }

  environment() { return environmentOf(callSync(() => this.#native.environment())) }

  async attach(pid, options) {
    const id = args.pid('pid', pid)
    return this.#perform(options, (wait) => this.#native.attachAsync(id, wait))
  }

  attachSync(pid) {
    const id = args.pid('pid', pid)
    return callSync(() => this.#native.attachSync(id))
  }

  async heartbeatIfDue(options) {
    return this.#perform(options, (wait) => this.#native.heartbeatAsync(wait))
  }

  heartbeatIfDueSync() {
    return callSync(() => this.#native.heartbeatSync())
  }

  async end(exit, options) {
    const how = args.optionalText('exit', exit)
    const report = reportOf(await this.#perform(options, (wait) => this.#native.endAsync(how, wait)))
    live.delete(this)
    return report
  }

  endSync(exit) {
    const how = args.optionalText('exit', exit)
    const report = reportOf(callSync(() => this.#native.endSync(how)))
    live.delete(this)
    return report
  }

  close() {
    this.#closed = true
    live.delete(this)
    callSync(() => this.#native.close())
  }

  async closeLater() {
    await this.#queue.idle()
    this.close()
  }

  async #perform(options, start) {
    const { signal } = args.callOptions(options)
    refuseAborted(signal)
    const { host, set } = this.#context
    return perform({ wait: args.beginWait(host, set), signal, queue: this.#queue, start })
  }
}

function checked(directory, start, options) {
  const given = args.object('start', start)
  args.only('start', given, ['agent', 'harness', 'ptySession', 'token'])
  const opened = args.openOptions(options, ['signal'])
  const parts = {
    directory: opened.host.absolute(args.path('directory', directory)),
    agent: args.text('start.agent', given.agent),
    harness: args.text('start.harness', given.harness),
    ptySession: args.optionalText('start.ptySession', given.ptySession),
    token: args.optionalText('start.token', given.token),
  }
  return { parts, ...opened }
}

async function startSession(directory, start, options) {
  const { parts, host, set, signal } = checked(directory, start, options)
  refuseAborted(signal)
  const tryOnce = (wait) => native.NativeSession.startAsync(host, parts, set, wait)
  const nativeSession = await perform({ wait: args.beginWait(host, set), signal, gate: slow, start: tryOnce })
  return new SessionCalls(nativeSession, { host, set })
}

function startSessionSync(directory, start, options) {
  const { parts, host, set, signal } = checked(directory, start, options)
  refuseAborted(signal)
  return new SessionCalls(callSync(() => native.NativeSession.startSync(host, parts, set)), { host, set })
}

module.exports = { startSession, startSessionSync }
