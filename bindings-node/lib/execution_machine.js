'use strict'
/**
 * A running call of a boundary in raw steps. Each step is a task of libuv's pool, in the order in which the steps were begun;
 * the first one waits for the task's lock in short tries, which hold no worker between them.
 */

const args = require('./arguments.js')
const { Queue, perform, refuseAborted } = require('./calls.js')
const { failureOf } = require('./execution_errors.js')
const { outcomeOf, replyOf } = require('./execution_json.js')
const { GallivantError } = require('./index.js')
const { inspectable } = require('./inspect.js')
const { valueOf } = require('./json.js')
const { callSync } = require('./native.js')

/** Under this a machine is told, by its boundary alone, that it ends. */
const END = Symbol('end')
/** Under this its driver, and nobody else, is told of that: a function, called with the reason. */
const ENDED = Symbol('ended')

/** A signal that fires at most once, and costs something only where somebody looks at it. */
class Ending {
  #controller = null
  #fired = null

  get signal() {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#fired !== null) this.#controller.abort(this.#fired.reason)
    }
    return this.#controller.signal
  }

  fire(reason) {
    this.#fired = { reason }
    this.#controller?.abort(reason)
  }
}

class Machine {
  /** It goes with its boundary, which has to stay while it is stepped: this keeps it. */
  #boundary
  #call
  #method
  #open
  #queue = new Queue()
  /** Of the outstanding call: its id, and what tells its method to end. */
  #outstanding = null
  #starting = null
  /** Why it was ended from outside. What a step has come to meanwhile is then an outcome, or nothing. */
  #ended = null

  /** `open` are the machines of the boundary that run. */
  constructor(boundary, method, input, open) {
    Object.defineProperty(this, ENDED, { value: null, writable: true })
    this.#boundary = boundary
    this.#method = method
    this.#call = callSync(() => boundary.call(method, input))
    this.#open = open
  }

  get method() { return this.#method }

  get outstandingId() { return this.#outstanding?.id ?? null }

  async start(options) {
    const { signal } = args.callOptions(options)
    refuseAborted(signal)
    const wait = callSync(() => this.#boundary.beginWait())
    // Ends the wait for the lock: the caller's signal, the end of the boundary, or `drop`.
    const starting = this.#starting = new AbortController()
    const onAbort = () => starting.abort(signal.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#open.add(this)
    try {
      return this.#told(await this.#perform((wait) => this.#call.startAsync(wait), wait, starting.signal))
    } finally {
      this.#starting = null
      if (this.#outstanding === null) this.#open.delete(this)
      signal?.removeEventListener('abort', onAbort)
    }
  }

  async reply(id, value) {
    const [call, text] = [idOf(id), replyOf(value)]
    return this.#feed((wait) => this.#call.replyAsync(call, text, wait))
  }

  async fail(id, error) {
    const [call, told] = [idOf(id), failureOf(error)]
    return this.#feed((wait) => this.#call.failAsync(call, told, wait))
  }

  async deadline(id) {
    const call = idOf(id)
    this.#fire(call, new DOMException('the deadline of the call has passed', 'TimeoutError'))
    return this.#feed((wait) => this.#call.deadlineAsync(call, wait))
  }

  async abort(id, reason) {
    const call = idOf(id)
    this.#fire(call, reason)
    return this.#feed((wait) => this.#call.abortAsync(call, wait))
  }

  async sending(id) {
    const call = idOf(id)
    await this.#perform((wait) => this.#call.sendingAsync(call, wait))
  }

  giveUp() { this.#call.giveUp() }

  async drop() {
    this[END](new DOMException('the machine was dropped', 'AbortError'))
    await this.#perform((wait) => this.#call.dropAsync(wait))
  }

  /** Tells whoever works for this machine to end, and ends its wait for the lock. Its boundary drops it, or `drop` does. */
  [END](reason) {
    this.#ended ??= { reason }
    this.#starting?.abort(reason)
    this.#outstanding?.ending.fire(reason)
    this.#outstanding = null
    this.#open.delete(this)
    this[ENDED]?.(reason)
  }

  #fire(id, reason) {
    if (this.#outstanding?.id === id) this.#outstanding.ending.fire(reason)
  }

  async #feed(start) { return this.#told(await this.#perform(start)) }

  #perform(start, wait = callSync(() => this.#boundary.beginWait()), signal = undefined) {
    return perform({ wait, signal, queue: this.#queue, start })
  }

  #told(step) {
    this.#outstanding = null
    if (step.call === null) {
      this.#open.delete(this)
      if (step.failed !== null) return { kind: 'failed', error: new GallivantError(step.failed) }
      return { kind: 'done', value: outcomeOf(step), json: step.done }
    }
    if (this.#ended !== null) throw this.#ended.reason
    const { id, port, method, input, deadlineAt } = step.call
    const ending = new Ending()
    this.#outstanding = { id, ending }
    return { kind: 'call', id, port, method, input: valueOf(input), inputJson: input, deadlineAt, get signal() { return ending.signal } }
  }

  static { inspectable(this.prototype, 'Machine', ({ method, outstandingId }) => ({ method, outstandingId })) }
}

function idOf(id) {
  if (!Number.isSafeInteger(id) || id < 0) throw args.wrong('id', 'not the id of a call')
  return id
}

module.exports = { END, ENDED, Ending, Machine }
