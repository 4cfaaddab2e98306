'use strict'
/**
 * A run's result to a pull request: applied, committed, verified, pushed and asked to be merged, each at most once. Types and
 * documentation are in `execution_result.d.ts`.
 *
 * The publication is a machine in the core, driven as any other call. What it asks of this machine, a checkout, the sandbox and a
 * push, is answered on threads of the native module (`src/execution/publication.rs`); the rest is the caller's.
 */

const args = require('./arguments.js')
const { refuseAborted } = require('./calls.js')
const { Execution, TransportError } = require('./execution.js')
const { jsonOf } = require('./execution_json.js')
const { DRIVE, HOST, NATIVE, callSync, native, unwrap } = require('./native.js')

const PULL_REQUESTS = ['findPullRequest', 'createPullRequest']
const OPTIONS = ['checkout', 'entryStopped', 'environment', 'git', 'plan', 'publisher', 'runtime', 'scratch', 'signal']

async function reconcileExecutionResult(execution, runId, options) {
  if (!(execution instanceof Execution)) throw args.wrong('execution', 'not an Execution')
  const given = args.object('options', options)
  args.only('options', given, OPTIONS)
  const { publisher, entryStopped } = given
  args.object('options.publisher', publisher)
  for (const name of PULL_REQUESTS) {
    if (typeof publisher[name] !== 'function') throw args.wrong(`options.publisher.${name}`, 'not a function')
  }
  if (typeof entryStopped !== 'function') throw args.wrong('options.entryStopped', 'not a function')
  const signal = args.signal(given.signal)
  const text = inputOf(runId, given, execution[HOST])
  refuseAborted(signal)
  const local = callSync(() => native.NativePublicationPorts.open(execution[NATIVE], text))
  const coordinator = {
    async entryStopped(input) { return { stopped: args.flag('the answer of entryStopped', await entryStopped(input.runId)) } },
  }
  const portOf = (port, method) => {
    if (port === 'coordinator') return { methods: coordinator }
    if (port === 'publisher' && typeof publisher[method] === 'function') return { methods: publisher }
    return { methods: { [method]: (_, call) => answered(local, port, method, call) }, isLocal: true }
  }
  return execution[DRIVE]('reconcileExecutionResult', text, portOf, signal)
}

/** What machine and ports are made of. */
function inputOf(runId, { plan, checkout, scratch, runtime, environment, git }, host) {
  const at = (name, path) => host.absolute(args.path(name, path))
  const members = {
    ...args.object('options.plan', plan),
    runId: args.text('runId', runId),
    checkout: at('options.checkout', checkout),
    scratch: at('options.scratch', scratch),
    runtime: null,
    environment: environment === undefined || environment === null ? null : { ...args.object('options.environment', environment) },
    git: git === undefined || git === null ? null : args.object('options.git', git),
  }
  if (runtime !== undefined && runtime !== null) {
    const { directory, programs } = args.object('options.runtime', runtime)
    members.runtime = {
      directory: at('options.runtime.directory', directory), programs: at('options.runtime.programs', programs),
    }
  }
  return jsonOf('options', members)
}

/** What this machine answers. Its programs are ended by the signal of the call, and the promise settles when they are gone. */
async function answered(local, port, method, { inputJson, signal }) {
  let errand
  const rung = new Promise((resolve) => {
    errand = callSync(() => local.begin(port, method, inputJson, resolve))
  })
  const giveUp = () => errand.giveUp()
  signal.addEventListener('abort', giveUp, { once: true })
  if (signal.aborted) giveUp()
  await rung
  signal.removeEventListener('abort', giveUp)
  try {
    return unwrap(errand.take())
  } catch (error) {
    throw new TransportError('io', error.message, { cause: error })
  }
}

module.exports = { reconcileExecutionResult }
