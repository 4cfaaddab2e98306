'use strict'
/**
 * The body of a request as it was sent, read before anybody parses it, and left readable for whoever does.
 *
 * It is read without its end being passed: what was read is put back in front of the end, so that a parser finds the
 * request as if nobody had read it.
 */

const { errorOf } = require('./native.js')

/** The body is above the limit. */
class TooLarge extends Error {}

/** The client is gone. */
class Gone extends Error {
  constructor() { super('the client has gone') }
}

/** The bytes that a framework has kept, or those that are read now. */
function readBody(given, req, limit, signal) {
  const kept = given.rawBody ?? req.rawBody
  if (kept instanceof Uint8Array) return Promise.resolve(kept)
  if (Number(req.headers['content-length'] ?? 0) > limit) return Promise.reject(new TooLarge())
  if (isEmpty(req)) return Promise.resolve(Buffer.alloc(0))
  if (req.readableDidRead || req.readableEnded) {
    const message = 'the body was read before it could be fingerprinted, so put this handler in front of what parses it'
    return Promise.reject(errorOf('GALLIVANT_INPUT', 'body', message))
  }
  return new Promise((resolve, reject) => {
    const chunks = []
    let bytes = 0
    const end = (settle) => {
      for (const [name, listener] of listeners) req.removeListener(name, listener)
      signal.removeEventListener('abort', onGone)
      settle()
    }
    const whole = () => {
      const body = Buffer.concat(chunks, bytes)
      end(() => {
        // Nobody has read past the last byte, so that the end is still to come, after these.
        if (bytes > 0) req.unshift(body)
        resolve(body)
      })
    }
    const onReadable = () => {
      while (req.readableLength > 0) {
        const chunk = req.read()
        if (chunk === null) break
        bytes += chunk.length
        if (bytes > limit) return end(() => reject(new TooLarge()))
        chunks.push(chunk)
      }
      if (hasAll(req) && !req.readableEnded) whole()
    }
    const onGone = () => end(() => reject(signal.reason ?? new Gone()))
    const listeners = [['readable', onReadable], ['end', whole], ['error', onGone], ['close', onGone]]
    if (signal.aborted) return reject(signal.reason)
    for (const [name, listener] of listeners) req.on(name, listener)
    signal.addEventListener('abort', onGone, { once: true })
  })
}

/** Whether every byte of the body has arrived. Of HTTP/2 a request says so of itself only when its end has been passed. */
function hasAll(req) {
  return isHttp2(req) ? req.stream.readableEnded : req.complete
}

/** Whether the request says that it has no body. Nothing of it is touched then. */
function isEmpty(req) {
  const { headers } = req
  // A body of HTTP/2 needs neither of the two headers.
  if (isHttp2(req)) return req.stream.endAfterHeaders
  return headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
}

function isHttp2(req) { return req.httpVersionMajor >= 2 }

module.exports = { Gone, TooLarge, readBody }
