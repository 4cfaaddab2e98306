'use strict'
/**
 * The public API of `gallivant` on one page. Types and documentation of every member are in `index.d.ts`.
 *
 * Importing loads this file and nothing else: each method hands over to the file of its domain, which is loaded, with
 * the native module behind it, by the first call that needs it. A hook that imports the package and then has nothing
 * to say costs what an empty script costs.
 *
 * ESM and CommonJS load this same file, so there is one set of classes. The names in `module.exports` at the end are
 * written so that Node sees them without running the file.
 */

const claims = () => require('./claim.js')
const creates = () => require('./idempotency.js')
const environments = () => require('./environment.js')
const fleets = () => require('./fleet.js')
const hooks = () => require('./hook.js')
const inspection = () => require('./inspect.js')
const machine = () => require('./machine.js')
const readers = () => require('./reader.js')
const sessions = () => require('./session.js')
const watches = () => require('./watch.js')
const writers = () => require('./writer.js')

/** Marks a construction from the inside: what follows is the implementation itself. */
const FROM = Symbol('from')

const version = '0.1.0'

/** The six variables that hand a session on (HS-67). */
const SESSION_VARIABLES = Object.freeze([
  'GALLIVANT_AGENT_DIR',
  'GALLIVANT_AGENT',
  'GALLIVANT_HARNESS',
  'GALLIVANT_SESSION_TOKEN',
  'GALLIVANT_SESSION_SEQ',
  'GALLIVANT_PTY_SESSION',
])

class GallivantError extends Error {
  constructor(parts) {
    super(parts.message)
    this.code = parts.code
    this.kind = parts.kind
    if (parts.reason !== null) this.reason = parts.reason
    this.remedy = parts.remedy
    if (parts.osError !== null) this.osError = parts.osError
    if (parts.file !== null) this.file = parts.file
    if (parts.resource !== null) this.resource = parts.resource
    if (parts.runId !== null) this.runId = parts.runId
    if (parts.operationId !== null) this.operationId = parts.operationId
  }
}
// Null is inherited: what Node prints below the stack are an error's own members, and so those that tell something.
const INHERITED = {
  name: 'GallivantError', reason: null, osError: null, file: null, resource: null, runId: null, operationId: null,
}
for (const [name, value] of Object.entries(INHERITED)) {
  Object.defineProperty(GallivantError.prototype, name, { value, configurable: true, writable: true })
}

class Writer {
  #writer

  constructor(directory, identity, options) {
    this.#writer = directory === FROM ? identity : writers().openWriter(directory, identity, options)
  }

  get directory() { return this.#writer.directory }
  get identity() { return this.#writer.identity }
  get sequence() { return this.#writer.sequence }
  interrupt() { this.#writer.interrupt() }

  observe(observation, options) { return this.#writer.observe(observation, options) }
  observeSync(observation) { return this.#writer.observeSync(observation) }
  observeUnlessEnded(observation, options) { return this.#writer.observeUnlessEnded(observation, options) }
  observeUnlessEndedSync(observation) { return this.#writer.observeUnlessEndedSync(observation) }
  ended(exit, options) { return this.#writer.ended(exit, options) }
  endedSync(exit) { return this.#writer.endedSync(exit) }
  noteChild(id, step, options) { return this.#writer.noteChild(id, step, options) }
  noteChildSync(id, step) { return this.#writer.noteChildSync(id, step) }
  heartbeat(options) { return this.#writer.heartbeat(options) }
  heartbeatSync() { return this.#writer.heartbeatSync() }
  lockCurrentOwnership(options) { return this.#writer.lockCurrentOwnership(options) }
  lockCurrentOwnershipSync() { return this.#writer.lockCurrentOwnershipSync() }
  withCurrentOwnership(action, options) { return this.#writer.withCurrentOwnership(action, options) }
  withCurrentOwnershipSync(action) { return this.#writer.withCurrentOwnershipSync(action) }

  static { inspectable(this.prototype, 'Writer', (writer) => writer.#writer.seen()) }
}

class Reader {
  #reader

  constructor(path, options) {
    this.#reader = readers().openReader(path, options)
  }

  get path() { return this.#reader.path }

  read(options) { return this.#reader.read(options) }
  readSync(options) { return this.#reader.readSync(options) }
  snapshot(options) { return this.#reader.snapshot(options) }
  snapshotSync() { return this.#reader.snapshotSync() }
  explain(options) { return this.#reader.explain(options) }
  explainSync(options) { return this.#reader.explainSync(options) }

  static { inspectable(this.prototype, 'Reader', (reader) => ({ path: reader.#reader.path })) }
}

class Fleet {
  #fleet

  constructor(root, options) {
    this.#fleet = fleets().openFleet(root, options)
  }

  get root() { return this.#fleet.root }

  read(options) { return this.#fleet.read(options) }
  readSync(options) { return this.#fleet.readSync(options) }
  forget() { this.#fleet.forget() }

  static { inspectable(this.prototype, 'Fleet', (fleet) => ({ root: fleet.#fleet.root })) }
}

class Session {
  #session
  #writer

  constructor(from, session) {
    if (from !== FROM) throw new TypeError('a session is begun by Session.start or Session.startSync')
    this.#session = session
    this.#writer = new Writer(FROM, session.writer)
  }

  static async start(directory, start, options) {
    return new Session(FROM, await sessions().startSession(directory, start, options))
  }

  static startSync(directory, start, options) {
    return new Session(FROM, sessions().startSessionSync(directory, start, options))
  }

  get writer() { return this.#writer }
  get claim() { return this.#session.claim }
  get holdsLease() { return this.#session.holdsLease }
  get harnessProcess() { return this.#session.harnessProcess }
  get closed() { return this.#session.closed }
  environment() { return this.#session.environment() }
  toEnv() { return this.#session.environment().toEnv() }

  attach(pid, options) { return this.#session.attach(pid, options) }
  attachSync(pid) { return this.#session.attachSync(pid) }
  heartbeatIfDue(options) { return this.#session.heartbeatIfDue(options) }
  heartbeatIfDueSync() { return this.#session.heartbeatIfDueSync() }
  end(exit, options) { return this.#session.end(exit, options) }
  endSync(exit) { return this.#session.endSync(exit) }
  close() { this.#session.close() }

  static {
    disposable(this.prototype, (session) => session.close(), (session) => session.#session.closeLater())
    inspectable(this.prototype, 'Session', (session) => session.#session.seen())
  }
}

class SessionEnvironment {
  constructor(parts) {
    const { agentDir, agent, harness, token, ptySession, sequence } = environments().checked(parts)
    this.agentDir = agentDir
    this.agent = agent
    this.harness = harness
    this.token = token
    this.ptySession = ptySession
    this.sequence = sequence
    Object.freeze(this)
  }

  static fromEnv(variables = process.env) { return environments().fromEnv(variables) }
  toEnv() { return environments().toEnv(this) }
  writer(options) { return new Writer(this.agentDir, this, options) }

  static { inspectable(this.prototype, 'SessionEnvironment', ({ token, ...seen }) => seen) }
}

class IdempotencyStore {
  #store

  constructor(from, store) {
    if (from !== FROM) throw new TypeError('a store is opened by IdempotencyStore.open or IdempotencyStore.openSync')
    this.#store = store
  }

  static async open(path, options) { return new IdempotencyStore(FROM, await creates().openStore(path, options)) }
  static openSync(path, options) { return new IdempotencyStore(FROM, creates().openStoreSync(path, options)) }

  get path() { return this.#store.path }
  get options() { return this.#store.options }

  begin(operation, scope, key, body, options) { return this.#store.begin(operation, scope, key, body, options) }
  beginSync(operation, scope, key, body, options) { return this.#store.beginSync(operation, scope, key, body, options) }
  inspect(operation, scope, key, options) { return this.#store.inspect(operation, scope, key, options) }
  inspectSync(operation, scope, key) { return this.#store.inspectSync(operation, scope, key) }
  sweep(options) { return this.#store.sweep(options) }
  sweepSync() { return this.#store.sweepSync() }
  capability(options) { return this.#store.capability(options) }
  capabilitySync() { return this.#store.capabilitySync() }
  noticeSleep() { this.#store.noticeSleep() }
  close() { return this.#store.close() }
  closeSync() { this.#store.closeSync() }

  static {
    disposable(this.prototype, (store) => store.closeSync(), (store) => store.close())
    inspectable(this.prototype, 'IdempotencyStore', (store) => ({ path: store.path, ...store.options }))
  }
}

class Fingerprint {
  #making = creates().beginFingerprint()

  static of(body) { return new Fingerprint().update(body) }

  static async from(parts) {
    const made = new Fingerprint()
    for await (const part of parts) made.update(part)
    return made
  }

  update(part) {
    this.#making.update(part)
    return this
  }

  digest() { return this.#making.digest() }

  static { inspectable(this.prototype, 'Fingerprint', (made) => ({ hex: made.#making.digest().toString('hex') })) }
}

function claim(directory, claimant, options) { return claims().claim(directory, claimant, options) }
function claimSync(directory, claimant, options) { return claims().claimSync(directory, claimant, options) }
function claimWrapperless(directory, claimant, options) {
  return claims().claimWrapperless(directory, claimant, options)
}
function claimWrapperlessSync(directory, claimant, options) {
  return claims().claimWrapperlessSync(directory, claimant, options)
}

function readFleet(root, options) { return fleets().readFleet(root, options) }
function readFleetSync(root, options) { return fleets().readFleetSync(root, options) }
function watch(directory, options) { return watches().watch(directory, options) }
function watchFleet(root, options) { return watches().watchFleet(root, options) }

function observeHook(harness, payload, options) { return hooks().observeHook(harness, payload, options) }
function observeHookSync(harness, payload, options) { return hooks().observeHookSync(harness, payload, options) }

function mintToken(options) { return machine().mintToken(options) }
function identifyProcess(pid, options) { return machine().identifyProcess(pid, options) }
function defaultOptions() { return machine().defaultOptions() }
function errorTable() { return machine().errorTable() }

/** Gives a prototype the disposal methods whose symbols this runtime defines; older ones lack them. */
function disposable(prototype, close, closeLater) {
  const define = (symbol, value) => {
    if (symbol !== undefined) Object.defineProperty(prototype, symbol, { value, configurable: true, writable: true })
  }
  define(Symbol.dispose, function () { close(this) })
  define(Symbol.asyncDispose, async function () { await closeLater(this) })
}

/** Gives a prototype Node's method for showing. What it needs is loaded by the first object that is shown. */
function inspectable(prototype, name, seen) {
  const value = function (depth, options, inspect) {
    return inspection().inspected(name, () => seen(this), depth, options, inspect)
  }
  Object.defineProperty(prototype, Symbol.for('nodejs.util.inspect.custom'), { value, configurable: true, writable: true })
}

module.exports = {
  Fingerprint,
  Fleet,
  GallivantError,
  IdempotencyStore,
  Reader,
  SESSION_VARIABLES,
  Session,
  SessionEnvironment,
  Writer,
  claim,
  claimSync,
  claimWrapperless,
  claimWrapperlessSync,
  defaultOptions,
  errorTable,
  identifyProcess,
  mintToken,
  observeHook,
  observeHookSync,
  readFleet,
  readFleetSync,
  version,
  watch,
  watchFleet,
}
