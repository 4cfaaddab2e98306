'use strict'
/** Handing a session to its siblings through the environment (HS-67). */

const { SESSION_VARIABLES, SessionEnvironment } = require('./index.js')
const { object, only, optionalText, optionalUnsigned, path, text } = require('./arguments.js')
const { callSync, native } = require('./native.js')

/** The members of a SessionEnvironment, checked; none is null. */
function checked(parts) {
  const given = object('environment', parts)
  only('environment', given, ['agentDir', 'agent', 'harness', 'token', 'ptySession', 'sequence'])
  return {
    agentDir: path('environment.agentDir', given.agentDir),
    agent: text('environment.agent', given.agent),
    harness: text('environment.harness', given.harness),
    token: text('environment.token', given.token),
    ptySession: optionalText('environment.ptySession', given.ptySession) ?? null,
    sequence: optionalUnsigned('environment.sequence', given.sequence) ?? null,
  }
}

/** A SessionEnvironment of what the native side answers, or of nothing. */
function environmentOf(parts) {
  return parts ? new SessionEnvironment(parts) : null
}

function fromEnv(variables) {
  const given = object('variables', variables)
  const present = {}
  for (const name of SESSION_VARIABLES) {
    const value = optionalText(`variables.${name}`, given[name])
    if (value !== undefined) present[name] = value
  }
  return environmentOf(callSync(() => native.environmentFrom(present)))
}

function toEnv(environment) {
  const parts = checked({ ...environment })
  return Object.fromEntries(callSync(() => native.environmentTo(parts)))
}

module.exports = { checked, environmentOf, fromEnv, toEnv }
