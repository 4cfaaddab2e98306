'use strict'
/** Claims: how a session takes a seat (HS-55 to HS-66). */

const { beginWait, object, only, openOptions, path, text } = require('./arguments.js')
const { perform, refuseAborted, slow } = require('./calls.js')
const { callSync, failure, native } = require('./native.js')

/** A claim as JavaScript sees it. */
function claimOf(parts) {
  return {
    sequence: parts.sequence,
    floorFailure: failure(parts.floorFailure),
    floorDamage: parts.floorDamage,
    contextFailure: failure(parts.contextFailure),
    swept: parts.swept,
  }
}

function checked(directory, claimant, options) {
  const who = object('claimant', claimant)
  only('claimant', who, ['agent', 'harness', 'token'])
  const opened = openOptions(options, ['signal'])
  const parts = {
    directory: opened.host.absolute(path('directory', directory)),
    agent: text('claimant.agent', who.agent),
    harness: text('claimant.harness', who.harness),
    token: text('claimant.token', who.token),
  }
  return { parts, ...opened }
}

async function perhaps(start, directory, claimant, options) {
  const { parts, host, set, signal } = checked(directory, claimant, options)
  refuseAborted(signal)
  const wait = beginWait(host, set)
  return perform({ wait, signal, gate: slow, start: (wait) => start(host, parts, set, wait) })
}

function perhapsSync(start, directory, claimant, options) {
  const { parts, host, set, signal } = checked(directory, claimant, options)
  refuseAborted(signal)
  return callSync(() => start(host, parts, set))
}

async function claim(directory, claimant, options) {
  return claimOf(await perhaps(native.claimAsync, directory, claimant, options))
}

function claimSync(directory, claimant, options) {
  return claimOf(perhapsSync(native.claimSync, directory, claimant, options))
}

async function claimWrapperless(directory, claimant, options) {
  const parts = await perhaps(native.claimWrapperlessAsync, directory, claimant, options)
  return parts ? claimOf(parts) : null
}

function claimWrapperlessSync(directory, claimant, options) {
  const parts = perhapsSync(native.claimWrapperlessSync, directory, claimant, options)
  return parts ? claimOf(parts) : null
}

module.exports = { claim, claimOf, claimSync, claimWrapperless, claimWrapperlessSync }
