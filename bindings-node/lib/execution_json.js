'use strict'
/** JSON of the execution layer: values, and texts that are handed on as they are. */

const args = require('./arguments.js')
const { inspectable } = require('./inspect.js')
const { put, textOf, valueOf } = require('./json.js')

/** A JSON text that stands for its value, so that its numbers keep their digits. The core judges it. */
class RawJson {
  #text

  constructor(text) {
    if (typeof text !== 'string') throw args.wrong('text', 'not a string')
    this.#text = escaped(text)
  }

  get text() { return this.#text }

  static { inspectable(this.prototype, 'RawJson', () => ({})) }
}

/** Half a character reaches the core as the escape that JSON has for it, and not as another character. */
function escaped(text) {
  if (text.isWellFormed()) return text
  return text.replace(/\p{Surrogate}/gu, (half) => `\\u${half.charCodeAt(0).toString(16)}`)
}

/** The JSON text of a value or of a `RawJson`. */
function jsonOf(name, value) {
  if (value instanceof RawJson) return value.text
  const text = textOf(value)
  if (text === undefined) throw args.wrong(name, 'not a JSON value')
  if (text.includes('null')) refuseInfinite(name, value)
  return text
}

/** A number that JSON has no text for is written as null, which would say that an amount, a time or a limit was not given. */
function refuseInfinite(name, value) {
  JSON.stringify(value, (key, part) => {
    if (typeof part === 'bigint') return undefined
    const number = part instanceof Number ? part.valueOf() : part
    if (typeof number !== 'number' || Number.isFinite(number)) return part
    throw args.wrong(key === '' ? name : key, 'not a finite number')
  })
}

/**
 * The text of what a method has replied: a string is JSON text already. A value that JSON has no text for, above all the
 * `undefined` of a forgotten `return`, becomes one that is refused: null would say that nothing was found.
 */
function replyOf(value) {
  if (typeof value === 'string') return escaped(value)
  if (value instanceof RawJson) return value.text
  return textOf(value) ?? 'undefined'
}

/** A list of secrets. What is no string is the core's to refuse, by its position. */
function secretsOf(secrets) {
  return args.list('options.secrets', secrets).map((secret) => (typeof secret === 'string' ? secret : null))
}

/** The value of an outcome: of a text that the engine's parser takes, or with its amounts of money in whole nano-dollars beside them. */
function outcomeOf(told) {
  if (typeof told === 'string') return JSON.parse(told)
  const { done, amounts } = told
  const value = valueOf(done)
  for (const { within, name, nanos } of amounts) {
    put(within === null ? value : value[within], `${name.replace(/Usd$/, '')}NanoUsd`, nanos)
  }
  return value
}

module.exports = { RawJson, jsonOf, outcomeOf, replyOf, secretsOf }
