'use strict'
/**
 * Whether a transport keeps those parts of its contract that only its provider's side shows. What is asked, and what is wrong with
 * what was seen, is the core's to say; this calls, waits and counts.
 */

const { randomUUID } = require('node:crypto')
const { setTimeout: pause } = require('node:timers/promises')
const args = require('./arguments.js')
const { refuseAborted } = require('./calls.js')
const { methodsOf, runAlone } = require('./execution_driver.js')
const { failureOf } = require('./execution_errors.js')
const { EXECUTION_LIMITS } = require('./execution_functions.js')
const { jsonOf } = require('./execution_json.js')
const { textOf, valueOf } = require('./json.js')
const { callSync, native } = require('./native.js')

const SUBJECT = [
  'taskId', 'provider', 'account', 'capabilities', 'nonce', 'inputHead', 'policy', 'model', 'environment', 'limits', 'prompt',
  'endingPrompt', 'secrets',
]
const COUNTS = ['requests', 'jobs', 'cancellations', 'openHandles']

async function checkTransport(transport, options) {
  const given = args.object('options', options)
  args.only('options', given, [...SUBJECT, 'look', 'signal'])
  const signal = args.signal(given.signal)
  if (typeof given.look !== 'function') throw args.wrong('options.look', 'not a function')
  const methods = JSON.stringify(methodsOf(transport))
  const wanted = { ...given, nonce: given.nonce ?? randomUUID(), secrets: args.list('options.secrets', given.secrets ?? []) }
  const members = SUBJECT.filter((name) => wanted[name] !== undefined).map((name) => `"${name}":${jsonOf(`options.${name}`, wanted[name])}`)
  const limits = Object.freeze({ ...Object.fromEntries(EXECUTION_LIMITS.map((limit) => [limit.name, limit.default])), ...given.limits })
  const seen = []
  for (;;) {
    refuseAborted(signal)
    const text = `{"methods":${methods},"subject":{${members.join(',')}},"seen":[${seen.join(',')}]}`
    const { ask, findings } = valueOf(callSync(() => native.executionFunction('checkTransport', text)))
    if (ask === undefined) return findings
    const before = await counted(given.look)
    const end = await runAlone(transport, ask, limits)
    const after = await counted(given.look)
    await pause(ask.quietMs, null, { signal })
    const { askedAt, endedAt, sending } = end
    const quiet = await counted(given.look)
    seen.push(`${textOf({ before, after, quiet, askedAt, endedAt, sending }).slice(0, -1)},"end":${endOf(end)}}`)
  }
}

async function counted(look) {
  const counts = args.object('counts', await look())
  args.only('counts', counts, COUNTS)
  return Object.fromEntries(COUNTS.map((name) => [name, args.unsigned(`counts.${name}`, counts[name])]))
}

/** As JSON. */
function endOf({ how, text, thrown }) {
  if (how !== 'ended') return '{"late":true}'
  return text === undefined ? `{"failed":${failureOf(thrown)}}` : textOf({ reply: text })
}

module.exports = { checkTransport }
