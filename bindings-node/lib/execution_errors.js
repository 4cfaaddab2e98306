'use strict'
/** How a transport says why a method has failed (EX-TRA-26 to EX-TRA-31), and how it is told to the core. */

class TransportError extends Error {
  constructor(kind, message, options = {}) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause })
    this.kind = kind
    if (options?.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs
    if (options?.code !== undefined) this.code = options.code
  }
}
Object.defineProperty(TransportError.prototype, 'name', { value: 'TransportError', configurable: true, writable: true })

function dispatchNotSentError(code, message) { return new TransportError('not-sent', message, { code }) }

function collectionValidationError(reason, message) {
  return new TransportError('collection-validation', message, { code: reason })
}

/** What a method threw or rejected with, as JSON for the core. Anything but a `TransportError` has failed with `io`. */
function failureOf(thrown) {
  try {
    const { kind, code, retryAfterMs } = thrown instanceof TransportError ? thrown : { kind: 'io' }
    const members = { kind, message: String(thrown?.message ?? thrown), code, retryAfterMs }
    return JSON.stringify(members, (name, value) => (typeof value === 'bigint' ? Number(value) : value))
  } catch {
    // It cannot even be looked at.
    return '{"kind":"io"}'
  }
}

module.exports = { TransportError, collectionValidationError, dispatchNotSentError, failureOf }
