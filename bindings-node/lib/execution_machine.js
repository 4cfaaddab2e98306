'use strict'
/** A running call of a boundary in raw steps, which are taken in the order in which they were begun. */

const args = require('./arguments.js')
const { Queue, refuseAborted } = require('./calls.js')
const { failureOf } = require('./execution_errors.js')
const { outcomeOf, replyOf } = require('./execution_json.js')
const { DEADLINE_AT, END, Ending, ID, INPUT, METHOD, PORT, Steps, dropped, inputOf } = require('./execution_steps.js')
const { GallivantError } = require('./index.js')
const { inspectable } = require('./inspect.js')
const { callSync } = require('./native.js')

/** Marks a construction from the inside. */
const FROM = Symbol('from')

class Machine {
  #method
  #steps
  #queue = new Queue()
  /** Of the outstanding call: its id, and what tells its method to end. */
  #outstanding = null

  /** It goes with its boundary, which has to stay while it is stepped: its steps keep it. `open` are the calls that run. */
  constructor(from, boundary, method, input, open) {
    if (from !== FROM) throw new TypeError('a machine is made by Execution.machine')
    this.#method = method
    this.#steps = new Steps(boundary, callSync(() => boundary.call(method, input)), open)
    this.#steps.onEnd = (reason) => {
      this.#outstanding?.ending.fire(reason)
      this.#outstanding = null
    }
  }

  get method() { return this.#method }

  get outstandingId() { return this.#steps.outstandingId }

  async start(options) {
    const { signal } = args.callOptions(options)
    refuseAborted(signal)
    return this.#inTurn(() => {
      refuseAborted(signal)
      return this.#steps.start(signal)
    })
  }

  async reply(id, value) {
    const [call, text] = [idOf(id), replyOf(value)]
    return this.#inTurn(() => this.#steps.reply(call, text))
  }

  async fail(id, error) {
    const [call, told] = [idOf(id), failureOf(error)]
    return this.#inTurn(() => this.#steps.fail(call, told))
  }

  async deadline(id) {
    const call = idOf(id)
    this.#fire(call, new DOMException('the deadline of the call has passed', 'TimeoutError'))
    return this.#inTurn(() => this.#steps.deadline(call))
  }

  async abort(id, reason) {
    const call = idOf(id)
    this.#fire(call, reason)
    return this.#inTurn(() => this.#steps.abort(call))
  }

  async sending(id) {
    const call = idOf(id)
    await this.#after(() => this.#steps.sending(call))
  }

  giveUp() { this.#steps.giveUp() }

  /** What it waits for ends at once; the machine goes after the step that is being taken. */
  async drop() {
    this.#steps[END](dropped())
    await this.#after(() => this.#steps.drop())
  }

  #fire(id, reason) {
    if (this.#outstanding?.id === id) this.#outstanding.ending.fire(reason)
  }

  async #after(action) {
    const { ready, leave } = this.#queue.enter()
    try {
      await ready
      return await action()
    } finally {
      leave()
    }
  }

  async #inTurn(action) { return this.#told(await this.#after(action)) }

  #told(told) {
    this.#outstanding = null
    if (told.failed !== undefined) return { kind: 'failed', error: new GallivantError(told.failed) }
    if (!Array.isArray(told)) return { kind: 'done', value: outcomeOf(told), json: told.done ?? told }
    const ending = new Ending()
    const [id, inputJson] = [told[ID], told[INPUT]]
    this.#outstanding = { id, ending }
    return {
      kind: 'call', id, port: told[PORT], method: told[METHOD], input: inputOf(told), inputJson, deadlineAt: told[DEADLINE_AT],
      get signal() { return ending.signal },
    }
  }

  static { inspectable(this.prototype, 'Machine', ({ method, outstandingId }) => ({ method, outstandingId })) }
}

function idOf(id) {
  if (!Number.isSafeInteger(id) || id < 0) throw args.wrong('id', 'not the id of a call')
  return id
}

module.exports = { FROM, Machine }
