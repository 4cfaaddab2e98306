'use strict'
/**
 * One hook call, from payload to record (HS-112, HS-115).
 *
 * Events of one agent's directory are observed in the order in which they were handed over.
 */

const { GallivantError, Session, SessionEnvironment } = require('./index.js')
const { beginWait, bytes, openOptions, text } = require('./arguments.js')
const { Queue, perform, refuseAborted, slow } = require('./calls.js')
const { checked: checkedEnvironment, fromEnv } = require('./environment.js')
const { callSync, failure, native } = require('./native.js')
const { reportOf } = require('./writer.js')

/** The queues of the directories that have events under way. */
const queues = new Map()

function hookReportOf(parts) {
  return {
    event: parts.event,
    word: parts.word,
    kind: parts.kind,
    report: parts.report === null ? null : reportOf(parts.report),
    error: failure(parts.error),
    lossy: parts.lossy,
  }
}

/** Bytes as the harness handed them over; a string is taken as its UTF-8, whatever is no Unicode in it. */
function bytesOf(payload) {
  return typeof payload === 'string' ? Buffer.from(payload, 'utf8') : bytes('payload', payload)
}

/** The session to speak for: given, or in the variables given, or in this process's own. Null speaks for nobody. */
function sessionOf(session, environ) {
  if (session === null) return undefined
  if (session instanceof Session) return session.environment()
  if (session instanceof SessionEnvironment) return session
  if (session !== undefined) return checkedEnvironment(session)
  return fromEnv(environ ?? process.env) ?? undefined
}

/** A hook never breaks its harness (HS-115): variables that make no sense are told in the report. */
function failedBy(error) {
  if (!(error instanceof GallivantError) || error.reason !== 'environment') throw error
  return { event: null, word: error.code, kind: 'failed', report: null, error, lossy: false }
}

function checked(harness, payload, options) {
  const { session, environ, ...rest } = options ?? {}
  const opened = openOptions(rest, ['signal'])
  const call = { harness: text('harness', harness), payload: bytesOf(payload), ...opened }
  refuseAborted(call.signal)
  try {
    const found = sessionOf(session, environ)
    return { ...call, session: found && checkedEnvironment({ ...found }) }
  } catch (error) {
    return { failed: failedBy(error) }
  }
}

async function observeHook(harness, payload, options) {
  const call = checked(harness, payload, options)
  if (call.failed) return call.failed
  const { host, set, signal, session } = call
  const start = (wait) => native.observeHookAsync(host, call.harness, call.payload, session, set, wait)
  const wait = beginWait(host, set, native.hookLockWaitMs())
  const directory = session?.agentDir ?? null
  const queue = queues.get(directory) ?? new Queue()
  queues.set(directory, queue)
  try {
    return hookReportOf(await perform({ wait, signal, queue, gate: slow, start }))
  } finally {
    if (queue.isIdle && queues.get(directory) === queue) queues.delete(directory)
  }
}

function observeHookSync(harness, payload, options) {
  const call = checked(harness, payload, options)
  if (call.failed) return call.failed
  const { host, set, session } = call
  return hookReportOf(callSync(() => native.observeHookSync(host, call.harness, call.payload, session, set)))
}

module.exports = { observeHook, observeHookSync }
