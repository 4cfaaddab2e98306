'use strict'
/**
 * The journal of a run: what its provider said, each event once; its public lines, as windows and as frames to come; what
 * it is worth; the result of the run. Types and documentation are in `journal.d.ts`.
 *
 * The calls of one journal, and of one projection, are made in the order in which they were begun. None of them takes a
 * lock, so each is one task of libuv's pool.
 */

const args = require('./arguments.js')
const { Queue, perform, refuseAborted } = require('./calls.js')
const { DisplayWindow, split } = require('./display.js')
const { inspectable } = require('./inspect.js')
const { textOf, valueOf } = require('./json.js')
const { NATIVE, callSync, native } = require('./native.js')
const { replay } = require('./replay.js')
const { pipeReplay } = require('./replay_http.js')

const HEARTBEAT_MS = native.heartbeatMs()
const MAX_PENDING_BYTES = native.maxPendingBytes()

/** Marks a construction from the inside. */
const FROM = Symbol('from')

const OWNER = ['taskId', 'runId', 'provider', 'jobId', 'turnId']

/** What a call that stands alone is made with. */
function standing(name, path, options) {
  const given = args.object('options', options, true)
  args.only('options', given, ['host', 'signal'])
  const host = args.host(given.host)
  return { host, signal: args.signal(given.signal), where: host.absolute(args.path(name, path)) }
}

/** Makes a call: `start` is given its native wait. */
async function call({ host, signal, queue }, start) {
  refuseAborted(signal)
  return perform({ wait: args.beginWait(host, {}), signal, queue, start })
}

/** Gives a class what ends it, by a call or at the end of a block. */
function closable(prototype) {
  const define = (symbol, value) => {
    if (symbol !== undefined) Object.defineProperty(prototype, symbol, { value, configurable: true, writable: true })
  }
  define(Symbol.dispose, function () { this.closeSync() })
  define(Symbol.asyncDispose, function () { return this.close() })
}

/** What a journal and a projection have in common: a directory, an order of calls, an end. */
class Calls {
  #native
  #host
  #queue = new Queue()

  constructor(nativeWriter, { host, where }) {
    this.#native = nativeWriter
    this.#host = host
    this.directory = where
  }

  make(options, start) {
    const { signal } = args.callOptions(options)
    return call({ host: this.#host, signal, queue: this.#queue }, (wait) => start(this.#native, wait))
  }

  makeSync(action) { return callSync(() => action(this.#native)) }

  async close() {
    await this.#queue.idle()
    this.#native.close()
  }

  closeSync() { this.#native.close() }
}

class Journal {
  #calls
  #owner

  constructor(from, calls, owner) {
    if (from !== FROM) throw new TypeError('a journal is opened by Journal.open or Journal.openSync')
    this.#calls = calls
    this.#owner = Object.freeze(owner)
  }

  static async open(directory, owner, redactor, options) {
    const [opened, whose, hides] = [standing('directory', directory, options), ownerOf(owner), redactorOf(redactor)]
    const { host, where } = opened
    const made = await call(opened, (wait) => native.NativeJournal.openAsync(host, where, whose, hides, wait))
    return new Journal(FROM, new Calls(made, opened), whose)
  }

  static openSync(directory, owner, redactor, options) {
    const [opened, whose, hides] = [standing('directory', directory, options), ownerOf(owner), redactorOf(redactor)]
    refuseAborted(opened.signal)
    const made = callSync(() => native.NativeJournal.openSync(opened.host, opened.where, whose, hides))
    return new Journal(FROM, new Calls(made, opened), whose)
  }

  get directory() { return this.#calls.directory }
  get owner() { return this.#owner }

  async append(page, options) {
    const text = pageOf(page)
    return this.#calls.make(options, (journal, wait) => journal.appendAsync(text, wait))
  }

  appendSync(page) {
    const text = pageOf(page)
    return this.#calls.makeSync((journal) => journal.appendSync(text))
  }

  async recover(options) { return this.#calls.make(options, (journal, wait) => journal.recoverAsync(wait)) }
  recoverSync() { return this.#calls.makeSync((journal) => journal.recoverSync()) }
  close() { return this.#calls.close() }
  closeSync() { this.#calls.closeSync() }

  static {
    closable(this.prototype)
    inspectable(this.prototype, 'Journal', ({ directory, owner }) => ({ directory, owner }))
  }
}

class Projection {
  #calls

  constructor(from, calls) {
    if (from !== FROM) throw new TypeError('a projection is opened by Projection.open or Projection.openSync')
    this.#calls = calls
  }

  static async open(directory, options) {
    const opened = standing('directory', directory, options)
    const { host, where } = opened
    const made = await call(opened, (wait) => native.NativeProjection.openAsync(host, where, wait))
    return new Projection(FROM, new Calls(made, opened))
  }

  static openSync(directory, options) {
    const opened = standing('directory', directory, options)
    refuseAborted(opened.signal)
    const made = callSync(() => native.NativeProjection.openSync(opened.host, opened.where))
    return new Projection(FROM, new Calls(made, opened))
  }

  get directory() { return this.#calls.directory }

  async catchUp(options) { return this.#calls.make(options, (projection, wait) => projection.catchUpAsync(wait)) }
  catchUpSync() { return this.#calls.makeSync((projection) => projection.catchUpSync()) }

  async trim(keepBytes, options) {
    const kept = args.unsigned('keepBytes', keepBytes)
    return this.#calls.make(options, (projection, wait) => projection.trimAsync(kept, wait))
  }

  trimSync(keepBytes) {
    const kept = args.unsigned('keepBytes', keepBytes)
    return this.#calls.makeSync((projection) => projection.trimSync(kept))
  }

  close() { return this.#calls.close() }
  closeSync() { this.#calls.closeSync() }

  static {
    closable(this.prototype)
    inspectable(this.prototype, 'Projection', ({ directory }) => ({ directory }))
  }
}

/** Reads may overlap: nothing of one depends on another. */
class LogReader {
  #native
  #host
  #directory

  constructor(from, nativeReader, opened) {
    if (from !== FROM) throw new TypeError('a reader of a log is opened by LogReader.open or LogReader.openSync')
    const { host, where } = opened
    this.#native = nativeReader
    this.#host = host
    this.#directory = where
  }

  static async open(directory, options) {
    const opened = standing('directory', directory, options)
    const { host, where } = opened
    return new LogReader(FROM, await call(opened, (wait) => native.NativeLogReader.openAsync(host, where, wait)), opened)
  }

  static openSync(directory, options) {
    const opened = standing('directory', directory, options)
    refuseAborted(opened.signal)
    return new LogReader(FROM, callSync(() => native.NativeLogReader.openSync(opened.host, opened.where)), opened)
  }

  get directory() { return this.#directory }

  async tail(options) { return this.#read(args.callOptions(options), (reader, wait) => reader.tailAsync(wait)) }
  tailSync() { return windowOf(callSync(() => this.#native.tailSync())) }

  async history(before, options) {
    const id = args.text('before', before)
    return this.#read(args.callOptions(options), (reader, wait) => reader.historyAsync(id, wait))
  }

  historySync(before) {
    const id = args.text('before', before)
    return windowOf(callSync(() => this.#native.historySync(id)))
  }

  async lines(options) {
    const given = args.callOptions(options, ['after', 'limit'])
    const { after, limit } = linesOf(given)
    return this.#read(given, (reader, wait) => reader.linesAsync(after, limit, wait))
  }

  linesSync(options) {
    const given = args.object('options', options, true)
    args.only('options', given, ['after', 'limit'])
    const { after, limit } = linesOf(given)
    return windowOf(callSync(() => this.#native.linesSync(after, limit)))
  }

  async close() { this.#native.close() }
  closeSync() { this.#native.close() }

  async #read({ signal }, start) {
    return windowOf(await call({ host: this.#host, signal }, (wait) => start(this.#native, wait)))
  }

  static {
    closable(this.prototype)
    inspectable(this.prototype, 'LogReader', ({ directory }) => ({ directory }))
  }
}

function linesOf({ after, limit }) {
  const most = args.optionalUnsigned('limit', limit)
  // The core bounds a window far below this.
  const bounded = most === undefined || most > 0xffff_ffffn ? undefined : Number(most)
  return { after: args.optionalText('after', after), limit: bounded }
}

function windowOf({ rows, before, after }) { return { rows: rows.map(rowOf), before, after } }

function rowOf({ id = null, kind, text, reason = null }) {
  return kind === 'line' ? { id, kind, text } : { id, kind, reason }
}

function ownerOf(owner) {
  const given = args.object('owner', owner)
  args.only('owner', given, OWNER)
  const whose = {}
  for (const name of OWNER) {
    const isOptional = name === 'jobId' || name === 'turnId'
    const value = isOptional ? args.optionalText(`owner.${name}`, given[name]) : args.text(`owner.${name}`, given[name])
    if (value !== undefined) whose[name] = value
  }
  return whose
}

function redactorOf(redactor) {
  const hides = redactor?.[NATIVE]
  if (!(hides instanceof native.NativeRedactor)) throw args.wrong('redactor', 'not a Redactor of gallivant/redaction')
  return hides
}

/**
 * The text of a page as it is now, whatever becomes of it while the call waits for its turn. What an event may have is the
 * core's to say; numbers that have lost digits already, and texts that would not stand alone, do not get there.
 */
function pageOf(page) {
  if (typeof page === 'string') return args.text('page', page)
  if (typeof page?.[Symbol.iterator] !== 'function') throw args.wrong('page', 'neither a list of events nor its JSON text')
  return `[${Array.from(page, eventOf).join(',')}]`
}

function eventOf(event, at) {
  const name = `page[${at}]`
  const { dataJson, ...members } = args.object(name, event)
  for (const number of ['providerSequence', 'timestamp']) exact(`${name}.${number}`, members[number])
  if (dataJson === undefined || dataJson === null) return textOf(members)
  if (members.data !== undefined) throw args.wrong(`${name}.dataJson`, 'there is data already')
  // A text that is no value of its own could end the event and begin another.
  try {
    JSON.parse(args.text(`${name}.dataJson`, dataJson))
  } catch (cause) {
    throw cause.code === undefined ? Object.assign(args.wrong(`${name}.dataJson`, 'not a JSON text'), { cause }) : cause
  }
  const text = textOf(members)
  return `${text.slice(0, -1)}${text === '{}' ? '' : ','}"data":${dataJson}}`
}

/** Refuses a number that would be written as another, or as none. */
function exact(name, value) {
  if (typeof value !== 'number') return
  if (!Number.isFinite(value)) throw args.wrong(name, 'not a finite number')
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw args.wrong(name, 'an integer beyond 2^53 is a bigint', 'out-of-range')
  }
}

async function check(directory, options) {
  const opened = standing('directory', directory, options)
  return call(opened, (wait) => native.checkJournalAsync(opened.host, opened.where, wait))
}

function checkSync(directory, options) {
  const { host, signal, where } = standing('directory', directory, options)
  refuseAborted(signal)
  return callSync(() => native.checkJournalSync(host, where))
}

async function readRunResult(directory, options) { return viewOf(await readRunResultJson(directory, options)) }
function readRunResultSync(directory, options) { return viewOf(readRunResultJsonSync(directory, options)) }
function viewOf(json) { return json === null ? null : valueOf(json) }

async function readRunResultJson(directory, options) {
  const opened = standing('directory', directory, options)
  return (await call(opened, (wait) => native.readRunResultAsync(opened.host, opened.where, wait))) ?? null
}

function readRunResultJsonSync(directory, options) {
  const { host, signal, where } = standing('directory', directory, options)
  refuseAborted(signal)
  return callSync(() => native.readRunResultSync(host, where)) ?? null
}

async function retentionCandidates(root, options) {
  const opened = standing('root', root, options)
  return call(opened, (wait) => native.retentionCandidatesAsync(opened.host, opened.where, wait))
}

function retentionCandidatesSync(root, options) {
  const { host, signal, where } = standing('root', root, options)
  refuseAborted(signal)
  return callSync(() => native.retentionCandidatesSync(host, where))
}

function serverSentEvent(frame) {
  const { id, event, data } = args.object('frame', frame)
  const known = args.optionalText('frame.id', id)
  const [name, text] = [args.text('frame.event', event), args.text('frame.data', data)]
  return callSync(() => native.frameToSse(known, name, text))
}

module.exports = {
  DisplayWindow,
  HEARTBEAT_MS,
  Journal,
  LogReader,
  MAX_PENDING_BYTES,
  Projection,
  check,
  checkSync,
  pipeReplay,
  readRunResult,
  readRunResultJson,
  readRunResultJsonSync,
  readRunResultSync,
  replay,
  retentionCandidates,
  retentionCandidatesSync,
  serverSentEvent,
  split,
}
