'use strict'
/** Secrets and recognised credentials out of texts, JSON values and streams. See `redaction.d.ts`. */

const { Transform } = require('node:stream')
const args = require('./arguments.js')
const { inspectable } = require('./inspect.js')
const { plain, put, textOf } = require('./json.js')
const { NATIVE, callSync, native } = require('./native.js')

const MARK = native.redactionMark()

/** Marks a construction from the inside. */
const FROM = Symbol('from')

class Redactor {
  #native

  constructor(secrets = [], options) {
    const given = args.object('options', options, true)
    args.only('options', given, ['patterns'])
    const patterns = given.patterns === undefined || given.patterns === null ? true : args.flag('patterns', given.patterns)
    const list = args.list('secrets', secrets).map(secretOf)
    this.#native = callSync(() => native.NativeRedactor.open(list, patterns))
  }

  get [NATIVE]() { return this.#native }

  get mostHeldBack() { return this.#native.mostHeldBack }

  text(text) { return this.texts([text])[0] }

  texts(texts) {
    const list = args.list('texts', texts).map((text) => args.text('text', text))
    return callSync(() => this.#native.texts(list))
  }

  bytes(bytes) {
    const given = bytesOf('bytes', bytes)
    return callSync(() => this.#native.bytes(given))
  }

  /**
   * The native side gets the strings and keys as JSON and answers them in the same order, so that what is no string stays as it
   * is. A bigint is no string there either, whatever the program has taught its own `toJSON`.
   */
  value(value) {
    const given = plain(value, '', 0)
    if (given === undefined) throw args.wrong('value', 'not a JSON value')
    const strings = callSync(() => this.#native.strings(textOf(given))).values()
    const next = () => strings.next().value
    const rebuilt = (part) => {
      if (typeof part === 'string') return next()
      if (typeof part !== 'object' || part === null) return part
      if (Array.isArray(part)) return part.map(rebuilt)
      const copy = {}
      for (const member of Object.values(part)) put(copy, next(), rebuilt(member))
      return copy
    }
    return rebuilt(given)
  }

  stream() { return new RedactionStream(FROM, this.#native) }

  transform() {
    const stream = this.stream()
    return new Transform({
      transform(chunk, encoding, done) { settle(done, () => stream.push(chunk)) },
      flush(done) { settle(done, () => stream.finish()) },
    })
  }

  static { inspectable(this.prototype, 'Redactor', () => ({})) }
}

class RedactionStream {
  #native

  constructor(from, redactor) {
    if (from !== FROM) throw new TypeError('a stream is begun by Redactor.stream')
    this.#native = callSync(() => redactor.stream())
  }

  get heldBack() { return this.#native.heldBack }

  push(piece) { return this.pushAll([piece]) }

  pushAll(pieces) {
    const list = args.list('pieces', pieces).map((piece) => bytesOf('piece', piece))
    return callSync(() => this.#native.push(list))
  }

  finish() { return callSync(() => this.#native.finish()) }

  static { inspectable(this.prototype, 'RedactionStream', (stream) => ({ heldBack: stream.heldBack })) }
}

function sanitize(value, secrets = []) {
  return new Redactor(args.list('secrets', secrets).filter((secret) => secret?.length !== 0)).value(value)
}

/** What is no string is the native side's to refuse, by its position. */
function secretOf(secret) {
  if (typeof secret === 'string') return Buffer.from(args.text('secret', secret))
  return secret instanceof Uint8Array ? secret : null
}

function bytesOf(name, bytes) {
  if (typeof bytes === 'string') return Buffer.from(bytes)
  if (!(bytes instanceof Uint8Array)) throw args.wrong(name, 'neither a string nor bytes')
  return bytes
}

/** Ends a step of a transform with its result, or with its error. */
function settle(done, action) {
  let out
  try {
    out = action()
  } catch (error) {
    return done(error)
  }
  done(null, out)
}

module.exports = { MARK, RedactionStream, Redactor, sanitize }
