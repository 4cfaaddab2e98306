'use strict'
/**
 * The native module, loaded when it is first asked for, and what its answers become.
 *
 * A native call answers an object with one member: `value`, or `error`; see `src/answer.rs`.
 */

const { GallivantError } = require('./index.js')

const target = `${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`

/**
 * The native module itself. In a source tree its file lies beside `package.json`; where the package is installed it is a package of
 * its own, which npm installs on machines of its kind only. A file that is there and cannot be loaded is not passed over.
 */
const native = load(`../gallivant.${target}.node`) ?? load(`gallivant-${target}`, true)

function load(module, last = false) {
  try {
    return require(module)
  } catch (cause) {
    if (!last && cause.code === 'MODULE_NOT_FOUND') return undefined
    throw new Error(`the native module of gallivant cannot be loaded, target=\`${target}\``, { cause })
  }
}

/** Under this an object has its native half, for the files of this folder alone. */
const NATIVE = Symbol('native')
/** The same, for its host. */
const HOST = Symbol('host')
/** Under this a boundary of the execution layer drives one of its calls, with ports of the caller's choice. */
const DRIVE = Symbol('drive')

/** The value of an answer; its error is thrown. */
function unwrap(answer) {
  if (answer.error !== undefined) throw new GallivantError(answer.error)
  return answer.value
}

/** Runs a native call on this thread. Whatever it throws by itself, rather than answering it, is a bug of ours. */
function callSync(action) {
  let answer
  try {
    answer = action()
  } catch (error) {
    throw internal(error)
  }
  return unwrap(answer)
}

/** The error that a native failure in a result's member becomes; null stays null. */
function failure(parts) {
  return parts === null ? null : new GallivantError(parts)
}

let table

/** An error made on this side, with kind and remedy from the core's table. */
function errorOf(code, reason, message) {
  table ??= new Map(native.errorTable().map((row) => [row.code, row]))
  const { kind, remedy } = table.get(code)
  return new GallivantError({
    code, kind, reason, remedy, message, osError: null, file: null, resource: null, runId: null, operationId: null,
  })
}

function internal(error) {
  if (error instanceof GallivantError) return error
  const said = String(error?.message ?? error).replace(/[\r\n]+/g, ' ')
  const made = errorOf('GALLIVANT_INTERNAL', null, `a bug was caught at the boundary, panic=\`${said}\``)
  made.cause = error
  return made
}

module.exports = { DRIVE, HOST, NATIVE, native, unwrap, callSync, failure, errorOf, internal }
