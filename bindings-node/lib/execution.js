'use strict'
/**
 * The execution layer: paid work is recorded, never doubled, never lost and never mistaken. Types and documentation are in
 * `execution.d.ts`.
 *
 * A boundary's call is a machine in the core. This file has the boundary and its methods; `execution_machine.js` steps a
 * machine, `execution_driver.js` carries out what it asks of a transport.
 */

const { setTimeout } = require('node:timers/promises')

const args = require('./arguments.js')
const { perform, refuseAborted } = require('./calls.js')
const { checkTransport } = require('./execution_check.js')
const { drive, methodsOf } = require('./execution_driver.js')
const { TransportError, collectionValidationError, dispatchNotSentError } = require('./execution_errors.js')
const pure = require('./execution_functions.js')
const { HealthStore, Refresh } = require('./execution_health.js')
const { RawJson, jsonOf, secretsOf } = require('./execution_json.js')
const { FROM: FROM_BOUNDARY, Machine } = require('./execution_machine.js')
const { END, Steps } = require('./execution_steps.js')
const { runDispatchLane, runLane, runProgressLane } = require('./execution_lanes.js')
const { ExecutionRegistry, RegisteredCapability, executionRegistry } = require('./execution_registry.js')
const { inspectable } = require('./inspect.js')
const { valueOf } = require('./json.js')
const { DRIVE, HOST, NATIVE, callSync, errorOf, native } = require('./native.js')

/** Marks a construction from the inside. */
const FROM = Symbol('from')
/** How many native calls that have ended a boundary keeps, to be made others. */
const MOST_KEPT = 2

/** The options of EX-BND-04 that go to the core as JSON. */
const JSON_OPTIONS = [
  'taskId', 'provider', 'account', 'budgetUsd', 'limits', 'secrets', 'health', 'intakeDeadlineAt', 'sandboxRequired'
]

class Execution {
  #native
  #host
  #limits
  /** Who answers the calls of a transport. */
  #portOf
  /** The calls that run. */
  #open = new Set()
  #kept = []
  #closing = null

  constructor(from, nativeExecution, host, transport) {
    if (from !== FROM) throw new TypeError('a boundary is made by makeExecution or executionRunner')
    this.#native = nativeExecution
    this.#host = host
    const port = transport === null ? null : { methods: transport }
    this.#portOf = (name) => (name === 'transport' ? port : null)
    this.#limits = Object.freeze(JSON.parse(nativeExecution.limits))
  }

  get limits() { return this.#limits }
  get [NATIVE]() { return this.#native }
  get [HOST]() { return this.#host }

  submit(input, options) { return this.#call('submit', input, options) }
  continue(input, options) { return this.#call('continue', input, options) }
  prepare(input, options) { return this.#call('prepare', input, options) }
  recoverResponse(operationId, input, options) {
    return this.#call('recoverResponse', () => {
      const [id, lost] = [JSON.stringify(args.text('operationId', operationId)), jsonOf('input', input)]
      return new RawJson(`{"operationId":${id},"input":${lost}}`)
    }, options)
  }

  startup(options) { return this.#call('startup', {}, options) }
  reconcile(input, options) { return this.#call('reconcile', input ?? {}, options) }
  collect(runId, options) { return this.#ofRun('collect', runId, options) }
  cancel(input, options) { return this.#call('cancel', input, options) }
  requestCancel(input, options) { return this.#call('requestCancel', input, options) }
  preparationStop(input, options) { return this.#call('preparationStop', input, options) }
  interrupt(input, options) { return this.#call('interrupt', input, options) }
  timeoutStop(input, options) { return this.#call('timeoutStop', input ?? {}, options) }
  adopt(input, options) { return this.#call('adopt', input, options) }
  settleAbsent(input, options) { return this.#call('settleAbsent', input, options) }

  start(input, options) { return this.#call('start', input, options) }
  settle(runId, options) { return this.#ofRun('settle', runId, options) }
  kill(runId, input, options) {
    return this.#call('kill', () => ({ ...args.object('input', input), runId: args.text('runId', runId) }), options)
  }

  isGone(runId, options) { return this.#ofRun('isGone', runId, options) }
  lines(runId, input, options) {
    return this.#call('lines', () => ({ ...args.object('input', input, true), runId: args.text('runId', runId) }), options)
  }

  /** The core says whether the tree is gone, whether a kill is due, and when to look again; this only sleeps. */
  async waitForKill(runId, input, options) {
    const { timeoutMs } = args.object('input', input)
    if (typeof timeoutMs !== 'number' || !(timeoutMs >= 0)) throw args.wrong('input.timeoutMs', 'no number of milliseconds')
    const { signal } = args.callOptions(options)
    const until = performance.now() + timeoutMs
    for (let looks = 0; ; looks += 1) {
      const input = { runId: args.text('runId', runId), looks }
      const { gone, killDue, pauseMs } = await this.#call('lookForKill', input, options)
      if (gone) return true
      if (killDue) {
        await this.reconcile({ force: true }, options).catch((error) => {
          if (error?.code !== 'EXECUTION_BUSY') throw error
        })
      }
      const left = until - performance.now()
      if (left <= 0) return false
      await setTimeout(Math.min(pauseMs, left), undefined, { signal }).catch((error) => { throw signal?.aborted ? signal.reason : error })
    }
  }

  inspect(options) { return this.#call('inspect', {}, options) }
  outcome(runId, options) { return this.#ofRun('outcome', runId, options) }
  preparationStatus(runId, options) { return this.#ofRun('preparationStatus', runId, options) }
  judgePreparation(runId, options) { return this.#ofRun('judgePreparation', runId, options) }
  read(runId, options) { return this.#ofRun('read', runId, options) }
  current(options) { return this.#call('current', {}, options) }
  isDue(options) { return this.#call('isDue', {}, options) }
  healthStatus(options) { return this.#call('healthStatus', {}, options) }
  check(runId, options) { return this.#ofRun('check', runId, options) }
  resultView(runId, options) { return this.#ofRun('resultView', runId, options) }

  capabilities() { return valueOf(callSync(() => this.#native.answerSync('capabilities', '{}'))) }
  dirOf(runId) {
    const input = jsonOf('input', { runId })
    return JSON.parse(callSync(() => this.#native.answerSync('dirOf', input)))
  }

  machine(method, input) {
    return new Machine(FROM_BOUNDARY, this.#native, args.text('method', method), jsonOf('input', input ?? {}), this.#open)
  }

  async close() {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close() {
    const closed = errorOf('GALLIVANT_INPUT', 'closed', 'the object is closed, object=`Execution`')
    for (const running of [...this.#open]) running[END](closed)
    const wait = callSync(() => this.#native.beginWait())
    await perform({ wait, start: (wait) => this.#native.closeAsync(wait) })
  }

  #ofRun(method, runId, options) { return this.#call(method, () => ({ runId: args.text('runId', runId) }), options) }

  /** Arguments are looked at when the call is made, and what is wrong with them rejects its promise. */
  #call(method, input, options) {
    try {
      const signal = options === undefined ? undefined : args.callOptions(options).signal
      const text = jsonOf('input', typeof input === 'function' ? input() : input)
      refuseAborted(signal)
      return this[DRIVE](method, text, this.#portOf, signal)
    } catch (error) {
      return Promise.reject(error)
    }
  }

  [DRIVE](method, text, portOf, signal) {
    const kept = this.#kept.pop()
    const call = kept ?? callSync(() => this.#native.call(method, text))
    kept?.renew(method, text)
    const steps = new Steps(this.#native, call, this.#open)
    const keep = () => { if (this.#kept.length < MOST_KEPT) this.#kept.push(call) }
    return drive({ steps, portOf, host: this.#host, limits: this.#limits, signal, keep })
  }

  static {
    // A Node without the symbol knows no blocks that would use it.
    if (Symbol.asyncDispose !== undefined) {
      const value = function () { return this.close() }
      Object.defineProperty(this.prototype, Symbol.asyncDispose, { value, configurable: true, writable: true })
    }
    inspectable(this.prototype, 'Execution', ({ limits }) => ({ limits }))
  }
}

/** The options as the core takes them, and what stays on this side. */
function checked(options, extra) {
  const given = args.object('options', options)
  args.only('options', given, [...JSON_OPTIONS, 'root', 'capabilities', 'transport', 'runner', 'host', ...extra])
  const { root, capabilities, transport, runner } = given
  const registered = capabilities instanceof RegisteredCapability ? capabilities : undefined
  const members = []
  for (const name of JSON_OPTIONS) {
    if (given[name] === undefined || given[name] === null || given[name] instanceof HealthStore) continue
    members.push([name, name === 'secrets' ? JSON.stringify(secretsOf(given.secrets)) : jsonOf(`options.${name}`, given[name])])
  }
  if (registered !== undefined) members.push(['capabilities', jsonOf('capabilities', registered.record)])
  else if (capabilities !== undefined) members.push(['capabilities', jsonOf('capabilities', capabilities)])
  if (transport !== undefined && transport !== null) {
    members.push(['transport', JSON.stringify({ methods: methodsOf(transport) })])
  }
  if (runner !== undefined && runner !== null) members.push(['runner', jsonOf('runner', runner)])
  const host = args.host(given.host)
  return {
    given,
    host,
    registered,
    health: given.health instanceof HealthStore ? given.health[NATIVE] : undefined,
    transport: transport ?? null,
    where: host.absolute(args.path('root', root)),
    text: `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`,
  }
}

function makeExecution(options) {
  const { given, health, host, registered, transport, where, text } = checked(options, ['registry'])
  const registry = given.registry === undefined ? undefined : registryOf(given.registry)
  const made = callSync(() => native.NativeExecution.open(host, where, text, registered?.[NATIVE], registry?.[NATIVE], health))
  return new Execution(FROM, made, host, transport)
}

async function executionRunner(root, options) {
  const { given, health, host, registered, transport, where, text } = checked({ ...args.object('options', options), root }, ['registry', 'signal'])
  if (registered !== undefined) throw args.wrong('options.capabilities', 'not a plain record')
  const registry = registryOf(given.registry)
  const signal = args.signal(given.signal)
  refuseAborted(signal)
  const start = (wait) => native.NativeExecution.existingAsync(host, where, text, registry[NATIVE], health, wait)
  const made = await perform({ wait: args.beginWait(host, {}), signal, start })
  const { provider } = JSON.parse(callSync(() => made.answerSync('capabilities', '{}')))
  return new Execution(FROM, made, host, registry.transportOf(provider) ?? transport)
}

function registryOf(registry) {
  if (!(registry instanceof ExecutionRegistry)) throw args.wrong('registry', 'not a registry made by executionRegistry')
  return registry
}

async function unresolved(root, options) {
  const given = args.object('options', options, true)
  args.only('options', given, ['host', 'signal'])
  const [host, signal] = [args.host(given.host), args.signal(given.signal)]
  const where = host.absolute(args.path('root', root))
  refuseAborted(signal)
  const start = (wait) => native.executionUnresolvedAsync(host, where, wait)
  return valueOf(await perform({ wait: args.beginWait(host, {}), signal, start }))
}

async function sandboxReadiness(options) {
  const given = args.object('options', options, true)
  args.only('options', given, ['host', 'runtime', 'runtimePrograms', 'scratch', 'signal'])
  const [host, signal] = [args.host(given.host), args.signal(given.signal)]
  const at = (name) => given[name] == null ? null : host.absolute(args.path(name, given[name]))
  const [scratch, runtime, programs] = ['scratch', 'runtime', 'runtimePrograms'].map(at)
  refuseAborted(signal)
  const start = (wait) => native.sandboxReadinessAsync(host, scratch, runtime, programs, wait)
  return JSON.parse(await perform({ wait: args.beginWait(host, {}), signal, start }))
}

const {
  EXECUTION_CURSOR_BYTES, EXECUTION_LIMITS, EXECUTION_VERSION, PROVIDER_STATES, assertExecutionDependency, backoff,
  cancellationKey, checkCursor, crc32c, executionLive, fittingEvents, gapId, healthAuthorize, idempotencyKey, intakeReservation,
  money, nanoUsd, publicTextCheck, publicationNext, replayKey, runId, unsubmittedInitialDispatch, validateManifest,
} = pure

module.exports = {
  EXECUTION_CURSOR_BYTES, EXECUTION_LIMITS, EXECUTION_VERSION, Execution, ExecutionRegistry, HealthStore, Machine,
  PROVIDER_STATES, RawJson, Refresh, RegisteredCapability, TransportError, assertExecutionDependency, backoff,
  cancellationKey, checkCursor, checkTransport, collectionValidationError, crc32c, dispatchNotSentError, executionLive,
  executionRegistry, executionRunner, fittingEvents, gapId, healthAuthorize, idempotencyKey, intakeReservation, makeExecution, money, nanoUsd,
  publicTextCheck, publicationNext, replayKey, runDispatchLane, runId, runLane, runProgressLane, sandboxReadiness, unresolved,
  unsubmittedInitialDispatch, validateManifest,
}
