'use strict'
/**
 * Creates with an `Idempotency-Key` over HTTP: one handler for node:http, Express and Fastify. Types and documentation are
 * in `http.d.ts`.
 *
 * The order of a keyed request: its body is read and fingerprinted before anybody parses it, the store is asked, and
 * either the saved answer is sent, or the application runs and its answer is kept back until it is saved. What a client
 * has seen is durable. What is saved is what `gallivant.asgi` of the Python package saves, so that servers in both
 * languages may share a store.
 */

const { GallivantError } = require('./index.js')
const args = require('./arguments.js')
const { Gone, TooLarge, readBody } = require('./http_body.js')
const { capture } = require('./http_capture.js')
const { SAVED_HEADERS, encode, decode, problem } = require('./http_messages.js')
const { isDestroyed } = require('./http_response.js')
const { timerMs } = require('./timers.js')

/** Methods that make nothing. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** How often a running create gives a sign of life: a fourth of the time after which another machine takes it over (IK-09). */
const SIGN_OF_LIFE_MS = 30_000

/** The pauses between two tries to say what could not be said at once. */
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000

/** So many of them keep a process that would end: three minutes of pauses. */
const PATIENT_TRIES = 10

/** A resource has an id; this is that of a thing whose application has named none. */
const UNNAMED = '-'

/** Reservations of which something has still to be said. Kept, so that none of them is collected and so dropped. */
const unsaid = new Set()

function idempotent(options) {
  const set = checked(options)
  return function idempotentCreate(req, res, next) {
    void serve(set, req.raw && res.raw ? fastify(req, res) : plain(req, res), next)
  }
}

function checked(given) {
  const options = args.object('options', given)
  const known = {
    store: undefined, operation: undefined, scope: undefined, required: false, waitMs: 10_000, bodyLimit: 16 << 20,
    isCompleted: (status) => status >= 200 && status < 300, resource: 'location', savedHeaders: SAVED_HEADERS,
    reusedStatus: 409, retryAfterS: 1, abandonMs: 60_000, settle: null, isGone: null, found: null, lost: null, onError: null,
  }
  args.only('options', options, Object.keys(known))
  const set = Object.fromEntries(Object.entries(known).map(([name, usual]) => [name, options[name] ?? usual]))
  if (typeof set.store?.begin !== 'function' || set.store.options === undefined) throw args.wrong('store', 'not an IdempotencyStore')
  if (typeof set.operation !== 'function') args.text('operation', set.operation)
  // No default: a scope that leaves out the parent in the path or the acting principal would show one owner's answers to
  // another.
  for (const name of ['scope', 'isCompleted']) {
    if (typeof set[name] !== 'function') throw args.wrong(name, 'not a function')
  }
  for (const name of ['settle', 'isGone', 'found', 'lost', 'onError']) {
    if (set[name] !== null && typeof set[name] !== 'function') throw args.wrong(name, 'not a function')
  }
  for (const name of ['waitMs', 'bodyLimit', 'reusedStatus', 'retryAfterS', 'abandonMs']) {
    if (!Number.isSafeInteger(set[name]) || set[name] < 0) throw args.wrong(name, 'not a whole number')
  }
  if (typeof set.resource !== 'function') set.resource = set.resource.toLowerCase()
  set.savedHeaders = new Set(Array.from(set.savedHeaders, (name) => name.toLowerCase()))
  return set
}

/** A request of node:http or Express. `given` is what the application has of it. */
function plain(req, res) {
  const send = ({ status, headers, body }) => {
    res.statusCode = status
    // What stands in front of this handler may have its own word on what an answer varies by.
    for (const [name, values] of byName(headers)) {
      if (name === 'vary') res.appendHeader(name, values)
      else res.setHeader(name, values)
    }
    res.end(body)
  }
  return { given: req, req, res, send }
}

/** A request of Fastify, as its hooks get it. Answers go through the reply, so that its own hooks see them. */
function fastify(request, reply) {
  const send = ({ status, headers, body }) => {
    reply.code(status)
    for (const [name, values] of byName(headers)) reply.header(name, values)
    // Of an empty body Fastify would say what type it has.
    reply.send(body.length === 0 ? undefined : body)
  }
  return { given: request, req: request.raw, res: reply.raw, send }
}

/** The values of each name, alone or in an array. */
function byName(headers) {
  const found = new Map()
  for (const [name, value] of headers) found.set(name, found.has(name) ? [found.get(name), value].flat() : value)
  return found
}

/** One request. Errors that are nobody's answer go to `next`; what the application throws is left as it is. */
async function serve(set, call, next) {
  const { req, given } = call
  const key = SAFE.has(req.method) ? undefined : req.headers['idempotency-key']
  if (key === undefined && !(set.required && !SAFE.has(req.method))) {
    given.idempotency = new Creating(null, null)
    return next()
  }
  const client = clientOf(call.res)
  let decided
  try {
    decided = key === undefined ? problem(400, 'idempotency_key_invalid') : await decide(set, call, key, client.signal)
  } catch (error) {
    // Nobody waits for an answer any more, and nothing is held.
    if (client.signal.aborted) return undefined
    client.forget()
    return next(error)
  }
  client.forget()
  if (!(decided instanceof Creating)) return answerWith(set, call, decided, next)
  return create(set, call, decided, next)
}

/** Sends an answer of this handler. What somebody else has begun to answer meanwhile, a time limit perhaps, stays his. */
function answerWith(set, call, answer, next) {
  try {
    call.send(answer)
  } catch (error) {
    set.onError?.(error, call.given)
    if (call.res.headersSent) call.res.destroy()
    else next(error)
  }
}

/** Fires when the client is gone before it was answered. */
function clientOf(res) {
  const gone = new AbortController()
  const onClose = () => gone.abort(new Gone())
  if (isDestroyed(res)) onClose()
  res.once('close', onClose)
  return { signal: gone.signal, forget: () => res.removeListener('close', onClose) }
}

/** What is to be answered, or the right to make the thing. */
async function decide(set, call, key, signal) {
  try {
    const { given, req } = call
    const body = await readBody(given, req, set.bodyLimit, signal)
    const operation = typeof set.operation === 'function' ? await set.operation(given) : set.operation
    const begin = await follow(set, given, await set.store.begin(operation, await set.scope(given), key, body, { signal }), signal)
    if (begin.kind === 'create') {
      given.rawBody ??= body
      return new Creating(key, begin)
    }
    if (begin.kind === 'replay') return await replay(set, given, begin)
    return problem(409, 'idempotency_unknown', { retryAfterS: set.retryAfterS })
  } catch (error) {
    if (error instanceof TooLarge) return problem(413, 'content_too_large', { close: !(call.req.httpVersionMajor >= 2) })
    return refusalOf(set, call, error)
  }
}

/** Follows what the store has answered until it is something to act on. */
async function follow(set, given, begin, signal) {
  const until = performance.now() + set.waitMs
  for (;;) {
    if (begin.kind === 'create') {
      if (!signal.aborted) return begin
      await begin.abandon()
      throw signal.reason
    }
    if (begin.kind === 'in_progress') {
      begin = await begin.wait({ deadlineMs: Math.max(0, Math.ceil(until - performance.now())), signal })
    } else if (begin.kind === 'unknown') {
      const found = set.settle === null ? undefined : await set.settle(given, begin)
      if (found === undefined) return begin
      begin = await begin.settle(found)
    } else if (set.isGone !== null && begin.resource !== UNNAMED && (await set.isGone(given, begin.resource)) === true) {
      begin = await begin.recreate()
    } else {
      return begin
    }
  }
}

/** As the first request was answered. */
async function replay(set, given, { answer, resource }) {
  const saved = answer === null ? null : decode(answer)
  let made
  if (saved === null) made = await foundOf(set, given, resource)
  else if (saved.hasBody) made = saved
  else made = problem(409, 'idempotency_answer_too_large', { resource })
  return { ...made, headers: [...made.headers, ['idempotent-replayed', 'true']] }
}

/** The answer for a thing of which only the id is known. */
async function foundOf(set, given, resource) {
  if (set.found === null) {
    return { status: 200, headers: [['content-type', 'application/json']], body: Buffer.from(JSON.stringify({ resource })) }
  }
  const { status, headers, body } = await set.found(given, resource)
  const pairs = Object.entries(headers ?? {}).flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]))
  return { status, headers: pairs, body: Buffer.from(args.bytes('found', body ?? '')) }
}

/** The answer for an error of the store. What is the program's own mistake is thrown. */
function refusalOf(set, { given }, error) {
  const { code } = error
  const isOurs = error instanceof GallivantError
  const later = { retryAfterS: set.retryAfterS }
  const word = isOurs ? code.toLowerCase() : ''
  if (['idempotency_key_invalid', 'idempotency_scope_invalid'].includes(word)) return problem(400, word)
  if (word === 'idempotency_key_reused') return problem(set.reusedStatus, word)
  if (word === 'idempotency_in_progress') return problem(409, word, later)
  if (word === 'idempotency_claim_lost') return problem(409, word, { resource: error.resource })
  // A server that ends closes its store, and may still be asked.
  const isClosed = isOurs && error.reason === 'closed'
  if (isClosed || /^idempotency_(busy|forked|store_)/.test(word)) {
    set.onError?.(error, given)
    return problem(503, isClosed ? 'idempotency_store_unavailable' : word, later)
  }
  throw error
}

/** Lets the application make the thing, and says what became of it. */
function create(set, call, creating, next) {
  const { given, req, res } = call
  given.idempotency = creating
  // A handler that hangs is not kept alive for ever: then the store says that nobody knows (IK-09).
  const until = performance.now() + Number(set.store.options.maxReservationMs)
  const alive = setInterval(() => {
    if (performance.now() >= until) clearInterval(alive)
    else creating.keepAlive().catch(() => {})
  }, SIGN_OF_LIFE_MS).unref()
  let abandoning
  let isAnswered = false
  const over = () => {
    clearInterval(alive)
    clearTimeout(abandoning)
    return isAnswered
  }
  const told = (error) => set.onError?.(error, given)
  const drop = async () => {
    if (!over()) await creating.abandon().catch(told)
  }
  // Nobody will say what became of it, and it may have been made: that is for whoever settles it.
  const giveUp = async () => {
    if (over()) return
    await creating.effectStarting().catch(() => {})
    await creating.abandon().catch(told)
  }
  const onClose = () => { abandoning = setTimeout(giveUp, timerMs(set.abandonMs)).unref() }
  res.once('close', onClose)
  const limit = Number(set.store.options.maxAnswerBytes)
  const status = capture(res, { limit, kept: set.savedHeaders, failed: told, async whole(answer) {
    isAnswered = true
    over()
    res.removeListener('close', onClose)
    return said(set, call, creating, answer, limit).catch(async (error) => {
      // Made, perhaps, and not to be said what: the key is given to nobody before that is settled.
      await creating.effectStarting().catch(() => {})
      await creating.abandon().catch(() => {})
      told(error)
      return problem(500, 'idempotency_unknown')
    })
  } })
  // What the application throws by itself goes where it would have gone without this handler. It proves that nothing was
  // made, but for a client that is gone, whose leaving may be what was thrown, and for an answer that had begun to say so.
  const failed = async (error) => {
    await (isDestroyed(res) || (res.headersSent && await isMade(set, status(), given)) ? giveUp() : drop())
    throw error
  }
  try {
    const running = next()
    // A handler that is over without an answer may still answer, from a callback of its own, while its client is there.
    if (typeof running?.then === 'function') running.then(() => (isDestroyed(res) ? giveUp() : undefined), failed)
  } catch (error) {
    void failed(error)
  }
}

/** Whether a status says that the thing was made; a function of the program that throws says nothing else. */
async function isMade(set, status, given) {
  try {
    return await set.isCompleted(status, given)
  } catch {
    return true
  }
}

/** Says to the store what the application has answered. Answers null, or what is to be sent in the place of that. */
async function said(set, call, creating, answer, limit) {
  const { given } = call
  const { reservation } = creating
  if (creating.isOver) return null
  if (!await set.isCompleted(answer.status, given)) {
    // After a mark an answer that is none of a made thing proves nothing, so that it is dropped and not released.
    const end = () => (creating.isMarked ? reservation.abandon() : reservation.release())
    await end().catch((error) => {
      if (error.code !== 'IDEMPOTENCY_CLAIM_LOST') insist(set, given, reservation, end, error)
    })
    return null
  }
  const resource = idOf(creating.resource) ?? idOf(await named(set, given, answer)) ?? UNNAMED
  const complete = () => {
    const saved = answer.body === null ? null : encode(answer, set.savedHeaders)
    const fits = saved !== null && saved.length <= limit
    return reservation.complete(resource, fits ? saved : encode({ ...answer, body: null }, set.savedHeaders))
  }
  try {
    await complete()
    return null
  } catch (error) {
    // Ended by the application itself, which says what it likes: nobody has taken anything over.
    if (error.reason === 'ended' || error.reason === 'closed') return null
    if (error.code === 'IDEMPOTENCY_CLAIM_LOST') {
      await set.lost?.(given, resource, error.resource)
      return refusalOf(set, call, error)
    }
    // Made, and not said. Marked, the key is at least not given to another, whatever becomes of this process.
    await creating.effectStarting().catch(() => {})
    insist(set, given, reservation, complete, error)
    return problem(503, error.code.toLowerCase(), { retryAfterS: set.retryAfterS })
  }
}

/** An id; undefined where there is none. What is no id is the program's mistake, which no repetition mends. */
function idOf(value) {
  return value === undefined || value === null || value === '' ? undefined : args.text('resource', value)
}

/** The id of what was made. */
async function named(set, given, answer) {
  if (typeof set.resource === 'function') return set.resource(given, answer)
  return answer.headers.find(([name]) => name === set.resource)?.[1]
}

/**
 * Says again what could not be said, until the store is told or the claim is another's. What no repetition helps is kept
 * to the end of the process, since dropping it could release a key whose thing exists.
 */
function insist(set, given, reservation, say, error) {
  set.onError?.(error, given)
  unsaid.add(reservation)
  if (!isPassing(error)) return
  let tries = 0
  const again = async (pauseMs) => {
    try {
      await say()
      unsaid.delete(reservation)
    } catch (failed) {
      if (failed.code === 'IDEMPOTENCY_CLAIM_LOST') unsaid.delete(reservation)
      else if (isPassing(failed)) later(Math.min(pauseMs * 2, LONGEST_PAUSE_MS))
    }
  }
  // A process that would end waits for it, for some minutes.
  const later = (pauseMs) => {
    const timer = setTimeout(again, pauseMs, pauseMs)
    if ((tries += 1) > PATIENT_TRIES) timer.unref()
  }
  later(FIRST_PAUSE_MS)
}

/** Whether the same call may do later. */
function isPassing({ kind }) {
  return kind === 'busy' || kind === 'unavailable'
}

/** What the application finds as `idempotency` on its request. Of one without a key every call does nothing. */
class Creating {
  #key
  #reservation
  #isMarked = false
  #isOver = false
  /** The id of what was made, where the application says it here. */
  resource = null

  constructor(key, reservation) {
    this.#key = key
    this.#reservation = reservation
  }

  get key() { return this.#key }
  get how() { return this.#reservation?.how ?? null }
  get reservation() { return this.#reservation }
  get isMarked() { return this.#isMarked }
  get isOver() { return this.#isOver }

  async effectStarting(options) {
    // Before it is known whether it could be said: it may have been, also where it throws.
    this.#isMarked = true
    await this.#reservation?.effectStarting(options)
  }

  async keepAlive(options) { await this.#reservation?.keepAlive(options) }

  async release(options) {
    await this.#reservation?.release(options)
    this.#isOver = true
  }

  async abandon() {
    this.#isOver = true
    await this.#reservation?.abandon()
  }
}

module.exports = { SAVED_HEADERS, idempotent }
