'use strict'
/**
 * A replay as the body of a response: server-sent events, at the pace of whoever reads them. Types and documentation are in
 * `journal.d.ts`.
 *
 * How an event is framed is the core's. What waits here is what the response has not sent: one chunk beyond its own mark.
 */

const args = require('./arguments.js')
const { refuseAborted } = require('./calls.js')
const { isDestroyed } = require('./http_response.js')
const { internals, replay } = require('./replay.js')

/** Events are written until a chunk has so many bytes. */
const CHUNK_BYTES = 65_536

/** What is told to whatever stands between: keep nothing, change nothing, hold nothing back. */
const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
}

/** The responses that a replay is written to: two at once would say each row twice, and in no order. */
const taken = new WeakSet()

async function pipeReplay(source, response, options) {
  const given = args.object('options', options, true)
  args.only('options', given, ['host', 'lastEventId', 'signal'])
  const signal = args.signal(given.signal)
  if (typeof response?.write !== 'function' || typeof response.setHeader !== 'function') {
    throw args.wrong('response', 'not a response of node:http')
  }
  refuseAborted(signal)
  if (taken.has(response)) throw args.wrong('response', 'a replay is written to it already')
  const from = replayOf(source, response, given)
  taken.add(response)
  const end = new End(from, response, signal)
  try {
    await internals.open(from)
    // Nothing was sent yet, so that the caller can still answer.
    if (end.how === 'aborted') throw signal.reason
    if (end.how === null) begin(response)
  } catch (error) {
    end.remove()
    // The caller may begin another.
    taken.delete(response)
    await from.close()
    throw error
  }
  let error = null
  try {
    if (response.req?.method !== 'HEAD') await write(from, response, end)
  } catch (failure) {
    error = failure
  }
  end.remove()
  await from.close()
  if (end.how !== 'disconnected' && !response.writableEnded) response.end()
  return { how: end.how ?? (error === null ? 'closed' : 'failed'), resumePoint: from.resumePoint, error }
}

function replayOf(source, response, { host, lastEventId }) {
  if (!internals.isReplay(source)) {
    // As a browser has it: without an id it sends no header, and an empty one says the same.
    const asked = response.req?.headers?.['last-event-id'] || undefined
    return replay(source, { host, lastEventId: lastEventId ?? asked })
  }
  for (const [name, value] of Object.entries({ host, lastEventId })) {
    if (value !== undefined && value !== null) throw args.wrong(`options.${name}`, 'the replay has it already')
  }
  return source
}

function begin(response) {
  if (!response.headersSent) {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value)
  }
  // Before the first event, so that whoever asked knows that it is answered.
  response.flushHeaders?.()
}

async function write(from, response, end) {
  while (end.how === null) {
    const events = await internals.nextEvents(from, CHUNK_BYTES)
    if (events === null || end.how !== null) return
    if (response.writableEnded) return end.come('disconnected')
    if (!response.write(events)) await end.orDrained()
  }
}

/** How it comes to its end, before there is nothing to write any more. */
class End {
  how = null
  #replay
  #response
  #signal
  #onClose = () => this.come('disconnected')
  #onAbort = () => this.come('aborted')

  constructor(from, response, signal) {
    this.#replay = from
    this.#response = response
    this.#signal = signal
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    response.on('close', this.#onClose)
    // Whatever is wrong with the connection closes it too.
    response.on('error', this.#onClose)
    if (isDestroyed(response) || response.closed || response.writableEnded) this.come('disconnected')
  }

  come(how) {
    this.how ??= how
    void this.#replay.close()
  }

  /** Waits until the response takes more, or until the end. */
  async orDrained() {
    if (this.how !== null || this.#replay.closed) return
    let wake
    const drained = new Promise((resolve) => { wake = resolve })
    this.#response.on('drain', wake)
    internals.whenClosed(this.#replay, wake)
    await drained
    internals.whenClosed(this.#replay, null)
    this.#response.off('drain', wake)
  }

  remove() {
    this.#signal?.removeEventListener('abort', this.#onAbort)
    this.#response.off('close', this.#onClose)
    this.#response.off('error', this.#onClose)
  }
}

module.exports = { pipeReplay }
