'use strict'
/**
 * The application's answer, kept back until it is whole and the store was told.
 *
 * To the application it is sent: `headersSent` and `writableEnded` say so. An answer that grows above the limit cannot be
 * saved, and is then sent as it comes, but for its last part.
 */

const { ServerResponse } = require('node:http')
const { isDestroyed } = require('./http_response.js')

/** What says something of a body that is not sent. */
const OF_A_BODY = ['content-length', 'transfer-encoding', 'trailer', 'set-cookie']

/** What an application changes headers by, until it has said them. */
const CHANGES_HEADERS = ['setHeader', 'setHeaders', 'appendHeader', 'removeHeader']

/** Of an answer with one of these statuses node:http sends no body. */
const BODILESS = new Set([204, 304])

/**
 * Takes the place of a response's methods. `whole(answer)` is called once, with `{ status, headers, body }`, the body null
 * where it is too large; it answers null, or what is to be sent instead. `failed(error)` is called where no answer could be
 * sent. `kept` are the headers that belong to the answer. Answers a function that answers the status as it stands.
 */
function capture(res, { limit, kept, whole, failed }) {
  const own = { write: res.write, end: res.end, writeHead: res.writeHead, flushHeaders: res.flushHeaders }
  for (const name of CHANGES_HEADERS) own[name] = res[name]
  const parts = []
  let bytes = 0
  /** `kept`: nothing is sent. `passing`: too large, and all but the last part is sent. `ended`: the store is being told. `sent`. */
  let state = 'kept'
  let wasPassing = false
  /** Status and reason phrase once they are said: what is set on the response afterwards changes nothing any more. */
  let head = null
  const flags = (isEnded) => {
    const constant = (name, value) => Object.defineProperty(res, name, { get: () => value, configurable: true })
    constant('headersSent', true)
    if (isEnded) constant('writableEnded', true)
  }
  const unflag = () => {
    delete res.headersSent
    delete res.writableEnded
  }

  const isHeld = () => state === 'kept' || state === 'ended'
  const sayHead = (said) => {
    head = said
    flags(false)
  }
  const sayHeadAsSet = () => { if (head === null) sayHead(checkedHead(res, res.statusCode, reasonOf(res))) }

  res.writeHead = function writeHead(status, ...rest) {
    if (!isHeld()) return own.writeHead.call(this, status, ...rest)
    if (head !== null) throw headersSent('write')
    const message = typeof rest[0] === 'string' ? rest.shift() : reasonOf(res)
    const said = checkedHead(res, status, message)
    setHeaders(res, rest[0])
    sayHead(said)
    return this
  }

  for (const name of CHANGES_HEADERS) {
    if (own[name] === undefined) continue
    res[name] = function changeHeaders(...given) {
      if (isHeld() && head !== null) throw headersSent(name === 'removeHeader' ? 'remove' : 'set')
      return own[name].apply(this, given)
    }
  }

  // The head is sent with the rest.
  res.flushHeaders = function flushHeaders() {
    if (state === 'sent' || state === 'passing') own.flushHeaders.call(this)
  }

  res.write = function write(chunk, encoding, callback) {
    if (state === 'sent') return own.write.call(this, chunk, encoding, callback)
    const [part, called] = partOf(chunk, encoding, callback)
    if (state === 'ended') {
      if (called) process.nextTick(called, Object.assign(new Error('write after end'), { code: 'ERR_STREAM_WRITE_AFTER_END' }))
      return false
    }
    sayHeadAsSet()
    parts.push(part)
    bytes += part.length
    if (state === 'kept' && bytes > limit) {
      state = 'passing'
      restore()
    }
    if (called) process.nextTick(called)
    return state === 'passing' ? passAllButLast() : true
  }

  res.end = function end(chunk, encoding, callback) {
    if (state === 'sent') return own.end.call(this, chunk, encoding, callback)
    if (typeof chunk === 'function') [chunk, encoding, callback] = [undefined, undefined, chunk]
    if (typeof encoding === 'function') [encoding, callback] = [undefined, encoding]
    if (state === 'ended') return this
    if (chunk !== undefined && chunk !== null) res.write(chunk, encoding)
    sayHeadAsSet()
    wasPassing = state === 'passing'
    state = 'ended'
    if (typeof callback === 'function') res.once('finish', callback)
    flags(true)
    const body = wasPassing ? null : BODILESS.has(head.status) ? Buffer.alloc(0) : Buffer.concat(parts, bytes)
    whole({ status: head.status, headers: headersOf(res), body }).then((other) => send(body, other)).catch((error) => {
      // The client gets no answer, and asks again.
      state = 'sent'
      unflag()
      failed(error)
      res.destroy(error)
    })
    return this
  }

  /** What was said of the head is what is sent. */
  function restore() {
    unflag()
    res.statusCode = head.status
    if (head.message !== undefined) res.statusMessage = head.message
  }

  function passAllButLast() {
    let goesOn = true
    while (parts.length > 1) goesOn = own.write.call(res, parts.shift())
    return goesOn
  }

  function send(body, other) {
    state = 'sent'
    if (wasPassing) unflag()
    else restore()
    if (isDestroyed(res)) return
    if (other === null) own.end.call(res, wasPassing ? parts[0] : body)
    else if (wasPassing) res.destroy()
    else {
      for (const name of [...OF_A_BODY, ...kept]) res.removeHeader(name)
      if (isHttp1(res)) res.statusMessage = undefined
      res.statusCode = other.status
      for (const [name, value] of other.headers) res.setHeader(name, value)
      own.end.call(res, other.body)
    }
  }

  return () => head?.status ?? res.statusCode
}

function isHttp1(res) { return res instanceof ServerResponse }

/** Of HTTP/2 there is none, and asking for it warns. */
function reasonOf(res) { return isHttp1(res) ? res.statusMessage : undefined }

/** Status and reason phrase as Node takes them, which refuses here what it would refuse when they are sent. */
function checkedHead(res, given, message) {
  if (!isHttp1(res)) {
    res.statusCode = given
    return { status: res.statusCode, message: undefined }
  }
  const trial = new ServerResponse({ method: 'HEAD' })
  trial.statusMessage = message
  trial.writeHead(given)
  return { status: trial.statusCode, message }
}

function headersSent(doing) {
  return Object.assign(new Error(`cannot ${doing} headers after the head of the answer`), { code: 'ERR_HTTP_HEADERS_SENT' })
}

/** Bytes, and the callback wherever it stands. */
function partOf(chunk, encoding, callback) {
  if (typeof encoding === 'function') [encoding, callback] = [undefined, encoding]
  if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) {
    const message = 'the part of an answer is a string, a Buffer or a Uint8Array'
    throw Object.assign(new TypeError(message), { code: 'ERR_INVALID_ARG_TYPE' })
  }
  // A copy: what was handed over may be written to again.
  const part = typeof chunk === 'string' ? Buffer.from(chunk, encoding ?? 'utf8') : Buffer.from(chunk)
  return [part, typeof callback === 'function' ? callback : undefined]
}

/** Headers as `writeHead` takes them: an object, pairs, or names and values in turn. */
function setHeaders(res, given) {
  if (Array.isArray(given) && Array.isArray(given[0])) given = given.flatMap(([name, value]) => [name, value])
  if (Array.isArray(given)) {
    if (given.length % 2 !== 0) {
      throw Object.assign(new TypeError('a header has no value'), { code: 'ERR_INVALID_ARG_VALUE' })
    }
    for (let at = 0; at < given.length; at += 2) res.removeHeader(given[at])
    for (let at = 0; at < given.length; at += 2) res.appendHeader(given[at], given[at + 1])
  } else {
    for (const [name, value] of Object.entries(given ?? {})) if (value !== undefined) res.setHeader(name, value)
  }
}

/** The headers of the answer as pairs of lower-case names and texts. */
function headersOf(res) {
  return Object.entries(res.getHeaders()).flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]))
}

module.exports = { capture }
