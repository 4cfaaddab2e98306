'use strict'
/**
 * The application's answer, kept back until it is whole and the store was told.
 *
 * To the application it is sent: `headersSent` and `writableEnded` say so. An answer that grows above the limit cannot be
 * saved, and is then sent as it comes, but for its last part.
 */

/** What says something of a body that is not sent. */
const OF_A_BODY = ['content-length', 'transfer-encoding', 'trailer', 'set-cookie']

/**
 * Takes the place of a response's methods. `whole(answer)` is called once, with `{ status, headers, body }`, the body null
 * where it is too large; it answers null, or what is to be sent instead. `kept` are the headers that belong to the answer.
 */
function capture(res, { limit, kept, whole }) {
  const own = { write: res.write, end: res.end, writeHead: res.writeHead, flushHeaders: res.flushHeaders }
  const parts = []
  let bytes = 0
  /** `kept`: nothing is sent. `passing`: too large, and all but the last part is sent. `ended`: the store is being told. `sent`. */
  let state = 'kept'
  let wasPassing = false
  let hasHead = false
  const flags = (isEnded) => {
    const constant = (name, value) => Object.defineProperty(res, name, { get: () => value, configurable: true })
    constant('headersSent', true)
    if (isEnded) constant('writableEnded', true)
  }
  const unflag = () => {
    delete res.headersSent
    delete res.writableEnded
  }

  res.writeHead = function writeHead(status, ...rest) {
    if (state === 'sent' || state === 'passing') return own.writeHead.call(this, status, ...rest)
    if (hasHead) throw Object.assign(new Error('the head of the answer is written'), { code: 'ERR_HTTP_HEADERS_SENT' })
    res.statusCode = status
    if (typeof rest[0] === 'string') res.statusMessage = rest.shift()
    setHeaders(res, rest[0])
    hasHead = true
    flags(false)
    return this
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
    flags(false)
    parts.push(part)
    bytes += part.length
    if (state === 'kept' && bytes > limit) {
      state = 'passing'
      unflag()
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
    wasPassing = state === 'passing'
    state = 'ended'
    if (typeof callback === 'function') res.once('finish', callback)
    flags(true)
    const body = wasPassing ? null : Buffer.concat(parts, bytes)
    void whole({ status: res.statusCode, headers: headersOf(res), body }).then((other) => send(body, other), (error) => {
      // Nothing is known of the answer any more, so the client gets none, and asks again.
      state = 'sent'
      unflag()
      res.destroy(error)
    })
    return this
  }

  function passAllButLast() {
    let goesOn = true
    while (parts.length > 1) goesOn = own.write.call(res, parts.shift())
    return goesOn
  }

  function send(body, other) {
    state = 'sent'
    unflag()
    if (res.destroyed) return
    if (other === null) own.end.call(res, wasPassing ? parts[0] : body)
    else if (wasPassing) res.destroy()
    else {
      for (const name of [...OF_A_BODY, ...kept]) res.removeHeader(name)
      res.statusMessage = undefined
      res.statusCode = other.status
      for (const [name, value] of other.headers) res.setHeader(name, value)
      own.end.call(res, other.body)
    }
  }
}

/** Bytes, and the callback wherever it stands. */
function partOf(chunk, encoding, callback) {
  if (typeof encoding === 'function') [encoding, callback] = [undefined, encoding]
  // A copy: what was handed over may be written to again.
  const part = typeof chunk === 'string' ? Buffer.from(chunk, encoding ?? 'utf8') : Buffer.from(chunk)
  return [part, typeof callback === 'function' ? callback : undefined]
}

/** Headers as `writeHead` takes them: an object, or names and values in turn. */
function setHeaders(res, given) {
  if (Array.isArray(given)) {
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
