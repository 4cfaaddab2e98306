'use strict'
/**
 * Arguments as JavaScript gives them: types are checked here, so that the native side gets what it expects and a wrong
 * argument is a `GallivantError` like any other. What a value means is the core's to say.
 */

const { native, errorOf, callSync } = require('./native.js')

const U64_LIMIT = 1n << 64n

/** What may be set for reading and writing, as `OptionParts` in `src/options.rs` has it. */
const OPTION_KINDS = {
  schema: text,
  alsoAcceptedSchemas: texts,
  staleMs: unsigned,
  refreshMs: unsigned,
  futureSkewMs: unsigned,
  lockWaitMs: unsigned,
  wrapperlessPrefixes: texts,
  extension: flag,
  probeBudgetMs: unsigned,
}

/** An error that says which argument is wrong. */
function wrong(name, wanted, reason = 'argument') {
  return errorOf('GALLIVANT_INPUT', reason, `${wanted}, argument=\`${name}\``)
}

/** A string that is Unicode: half a surrogate pair would be written as another text than was given. */
function text(name, value) {
  if (typeof value !== 'string') throw wrong(name, 'not a string')
  if (!value.isWellFormed()) throw wrong(name, 'not well-formed Unicode', 'unicode')
  return value
}

/** A string, or undefined for null and undefined. */
function optionalText(name, value) {
  return value === undefined || value === null ? undefined : text(name, value)
}

function texts(name, value) {
  if (!Array.isArray(value)) throw wrong(name, 'not an array of strings')
  return value.map((item) => text(name, item))
}

/** What a list, or anything else that is iterated, has. A text and bytes are one thing, and no list of their parts. */
function list(name, value) {
  const isOne = typeof value === 'string' || ArrayBuffer.isView(value)
  if (isOne || typeof value?.[Symbol.iterator] !== 'function') throw wrong(name, 'not a list')
  return Array.from(value)
}

function flag(name, value) {
  if (typeof value !== 'boolean') throw wrong(name, 'neither true nor false')
  return value
}

/** Bytes; a string is taken as its UTF-8. */
function bytes(name, value) {
  if (typeof value === 'string') return Buffer.from(text(name, value), 'utf8')
  if (value instanceof Uint8Array) return value
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  if (value instanceof ArrayBuffer) return new Uint8Array(value)
  throw wrong(name, 'not bytes, nor a string')
}

/** A path as a string; a `file:` URL is taken too. */
function path(name, value) {
  if (value !== null && typeof value === 'object' && typeof value.href === 'string') {
    try {
      return text(name, require('node:url').fileURLToPath(value.href))
    } catch (cause) {
      throw Object.assign(wrong(name, 'not a file URL'), { cause })
    }
  }
  return text(name, value)
}

/** An unsigned 64-bit number as a bigint. A number is taken as long as it is exact. */
function unsigned(name, value) {
  if (typeof value === 'number' && Number.isSafeInteger(value)) value = BigInt(value)
  if (typeof value !== 'bigint') throw wrong(name, 'not a bigint, nor a number that is a safe integer')
  if (value < 0n || value >= U64_LIMIT) throw wrong(name, 'not an unsigned number of 64 bits', 'out-of-range')
  return value
}

/** The same, or undefined for null and undefined. */
function optionalUnsigned(name, value) {
  return value === undefined || value === null ? undefined : unsigned(name, value)
}

/** A process id. */
function pid(name, value) {
  if (!Number.isInteger(value) || value < 0 || value > 0xffff_ffff) throw wrong(name, 'not a process id')
  return value
}

/** An object; undefined and null are an empty one where they are allowed. */
function object(name, value, isOptional = false) {
  if (isOptional && (value === undefined || value === null)) return {}
  if (value === null || typeof value !== 'object') throw wrong(name, 'not an object')
  return value
}

/** Refuses members that nobody would look at: a misspelt name must not silently mean the default. */
function only(name, value, allowed) {
  for (const key of Object.keys(value)) {
    if (!allowed.includes(key)) throw wrong(`${name}.${key}`, 'not a known member', 'unknown-member')
  }
}

/** An AbortSignal, or undefined. */
function signal(value) {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'object' || typeof value.aborted !== 'boolean' || typeof value.addEventListener !== 'function') {
    throw wrong('signal', 'not an AbortSignal')
  }
  return value
}

/** Options of a call on something already open: `{ signal }` and what else `allowed` names. */
function callOptions(given, allowed = []) {
  const options = object('options', given, true)
  only('options', options, ['signal', ...allowed])
  return { ...options, signal: signal(options.signal) }
}

/**
 * Options of something that is opened, or of a call that stands alone: the host, the signal where there is one, and the
 * options as the native side takes them.
 */
function openOptions(given, allowed = []) {
  const options = object('options', given, true)
  only('options', options, ['host', ...allowed, ...Object.keys(OPTION_KINDS)])
  const set = {}
  for (const [name, check] of Object.entries(OPTION_KINDS)) {
    if (options[name] !== undefined && options[name] !== null) set[name] = check(name, options[name])
  }
  return { host: host(options.host), signal: signal(options.signal), set }
}

let system

/** The native host: the machine, unless a test hands over another. */
function host(given) {
  if (given === undefined || given === null) return (system ??= native.NativeHost.system())
  if (!(given instanceof native.NativeHost)) throw wrong('host', 'not the host of a TestHost')
  return given
}

/** What a host's clock says, in milliseconds since 1970. That of the machine is asked without a crossing. */
function wallMs(given) {
  return given === system ? Date.now() : Number(given.wallMs())
}

/** Begins a call that may wait for the lock as long as the options say, at most `atMostMs`. */
function beginWait(host, set, atMostMs) {
  return callSync(() => host.beginWait(set, atMostMs))
}

module.exports = {
  beginWait, bytes, callOptions, flag, host, list, object, only, openOptions, optionalText, optionalUnsigned, path, pid, signal,
  text, texts, unsigned, wallMs, wrong,
}
