'use strict'
/** The constants and pure functions of the execution layer (EX-BND-01, EX-SEA-15): all of them are the core's. */

const args = require('./arguments.js')
const { RawJson, jsonOf } = require('./execution_json.js')
const { valueOf } = require('./json.js')
const { callSync, native } = require('./native.js')

const constants = native.executionConstants()
const EXECUTION_VERSION = constants.version
const EXECUTION_CURSOR_BYTES = constants.cursorBytes
const PROVIDER_STATES = Object.freeze(constants.states)
const EXECUTION_LIMITS = Object.freeze(constants.limits.map((limit) => Object.freeze(limit)))

/** Calls a function of the core. Members that are undefined are left out. */
function call(name, members) {
  const given = Object.entries(members).filter(([, value]) => value !== undefined)
  const text = `{${given.map(([key, value]) => `${JSON.stringify(key)}:${jsonOf(key, value)}`).join(',')}}`
  return valueOf(callSync(() => native.executionFunction(name, text)))
}

/** The same with these members of an object, whatever else it has. */
function callWith(name, input, members) {
  const given = args.object('input', input)
  return call(name, Object.fromEntries(members.map((member) => [member, given[member]])))
}

/** An amount as the text of a number. */
function amountOf(name, amount) {
  if (amount instanceof RawJson) return amount.text
  if (typeof amount === 'object' && amount !== null) throw args.wrong(name, 'not a number, nor the text of one')
  return typeof amount === 'string' ? args.text(name, amount) : String(amount)
}

function money(amount, round = 'up') {
  const { nano, usd } = call('money', { amount: amountOf('amount', amount), round })
  return { usd, nano: BigInt(nano) }
}

function nanoUsd(amount, round) { return money(amount, round).nano }

function intakeReservation(input) {
  const { budgetUsd, remaining } = args.object('input', input)
  const [budget, left] = [new RawJson(amountOf('budgetUsd', budgetUsd)), new RawJson(amountOf('remaining', remaining))]
  const text = callSync(() => native.executionFunction('intakeReservation', `{"budgetUsd":${budget.text},"remaining":${left.text}}`))
  return money(text)
}

function assertExecutionDependency(runtime) {
  const { contractVersion, intake } = args.object('runtime', runtime)
  const version = Number.isSafeInteger(contractVersion) ? contractVersion : undefined
  callSync(() => native.assertDependency(version, intake !== undefined && intake !== null && intake !== false))
}

/** A number that JSON has no text for is as little a cursor as half a character is. */
const checkCursor = (cursor) => (
  typeof cursor === 'number' && !Number.isFinite(cursor) ? { valid: false, bytes: 0 } : call('checkCursor', { cursor })
)
const gapId = (cursor) => call('gapId', { cursor })
const idempotencyKey = (input) => callWith('idempotencyKey', input, ['taskId', 'provider', 'account', 'runId', 'operationId'])
const cancellationKey = (input) => callWith('cancellationKey', input, ['taskId', 'provider', 'account', 'runId'])
const runId = (input) => callWith('runId', input, ['taskId', 'provider', 'account', 'operationId'])
const replayKey = (input) => callWith('replayKey', input, ['provider', 'providerJobId', 'turnId', 'eventId'])
const backoff = (input) => callWith('backoff', input, ['failures', 'jitter', 'retryAfterMs', 'limits'])
const fittingEvents = (events, limits) => call('fittingEvents', { events, limits })
const crc32c = (text) => call('crc32c', { text })
const validateManifest = (files, tree) => call('validateManifest', { files, tree })
const publicationNext = (checkpoint, facts) => call('publicationNext', { checkpoint, facts })
const publicTextCheck = (text) => { call('publicTextCheck', { text }) }
const executionLive = (value) => call('executionLive', { value })
const unsubmittedInitialDispatch = (entry, ledger) => call('unsubmittedInitialDispatch', { entry, ledger })
const healthAuthorize = (record, now) => call('healthAuthorize', { record, now })

module.exports = {
  EXECUTION_CURSOR_BYTES, EXECUTION_LIMITS, EXECUTION_VERSION, PROVIDER_STATES, assertExecutionDependency, backoff,
  cancellationKey, checkCursor, crc32c, executionLive, fittingEvents, gapId, healthAuthorize, idempotencyKey, intakeReservation,
  money, nanoUsd, publicTextCheck, publicationNext, replayKey, runId, unsubmittedInitialDispatch, validateManifest,
}
