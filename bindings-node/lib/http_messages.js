'use strict'
/** What `gallivant/http` saves of an answer, and its own refusals. */

/** The version of the saved bytes. A later one gets another number, and what has none of these is not ours. */
const SAVED = 1

/**
 * The headers that are saved and replayed: those that say what the body is and where the thing is. Nothing that belongs to
 * one client or one moment (cookies, credentials, dates) is among them.
 */
const SAVED_HEADERS = Object.freeze([
  'content-type', 'content-language', 'content-encoding', 'content-location', 'etag', 'last-modified', 'link', 'location',
  'vary',
])

const TITLES = {
  content_too_large: 'the body is larger than this server takes with a key',
  idempotency_key_invalid: 'the Idempotency-Key is not 1 to 255 bytes of visible ASCII, given once',
  idempotency_scope_invalid: 'what the key would belong to has no usable name',
  idempotency_key_reused: 'the Idempotency-Key was used with another body',
  idempotency_in_progress: 'the first request with this Idempotency-Key still runs',
  idempotency_unknown: 'nobody knows whether the first request with this Idempotency-Key made its thing',
  idempotency_claim_lost: 'another request with this Idempotency-Key has taken this one over',
  idempotency_answer_too_large: 'the first request has made its thing, and its answer was too large to be saved',
  idempotency_busy: 'the store of keys is busy',
}

/** The bytes to save: a line of JSON with version, status and the headers of these names, then the body. */
function encode({ status, headers, body }, names) {
  const kept = headers.filter(([name]) => names.has(name))
  const head = { v: SAVED, status, headers: kept, body: body !== null }
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body ?? Buffer.alloc(0)])
}

/** An answer as it was saved, and whether its body was; null where the bytes are none of ours. */
function decode(saved) {
  const bytes = Buffer.from(saved.buffer, saved.byteOffset, saved.byteLength)
  const end = bytes.indexOf(10)
  try {
    const head = JSON.parse(bytes.toString('utf8', 0, end))
    if (end < 0 || head.v !== SAVED || !Number.isInteger(head.status)) return null
    const headers = head.headers.map(([name, value]) => [String(name), String(value)])
    return { status: head.status, headers, body: bytes.subarray(end + 1), hasBody: head.body === true }
  } catch {
    return null
  }
}

/**
 * A refusal as `application/problem+json` (RFC 9457), with the specification's word as its `code`. Nothing of the
 * server's paths is in it.
 */
function problem(status, word, { retryAfterS, resource, close } = {}) {
  const told = { type: 'about:blank', title: TITLES[word] ?? 'keyed requests are not available now', status, code: word }
  if (resource !== undefined && resource !== null) told.resource = resource
  const headers = [['content-type', 'application/problem+json'], ['cache-control', 'no-store']]
  if (retryAfterS !== undefined) headers.push(['retry-after', String(retryAfterS)])
  if (close) headers.push(['connection', 'close'])
  return { status, headers, body: Buffer.from(JSON.stringify(told)) }
}

module.exports = { SAVED_HEADERS, decode, encode, problem }
