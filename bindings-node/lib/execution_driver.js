'use strict'
/**
 * The host driver: carries out what a machine asks of a transport and of other ports, and ends each method at its deadline or at
 * the caller's signal (EX-TRA-02 to EX-TRA-05, EX-TRA-29, EX-TRA-34).
 */

const args = require('./arguments.js')
const deadlines = require('./execution_deadlines.js')
const { TransportError, failureOf } = require('./execution_errors.js')
const { outcomeOf, replyOf } = require('./execution_json.js')
const { DEADLINE_AT, Ending, ID, INPUT, METHOD, PORT, inputOf } = require('./execution_steps.js')
const { GallivantError } = require('./index.js')
const { textOf } = require('./json.js')
const { native } = require('./native.js')

/** A method whose signal has fired is waited for so long, in milliseconds, and then left alone (EX-TRA-05). */
const GRACE_MS = 1000

const METHODS = Object.freeze(native.executionConstants().methods)

/** The methods that a transport has. They are declared by being there, and not found by calling. */
function methodsOf(transport) {
  args.object('transport', transport)
  return METHODS.filter((method) => typeof transport[method] === 'function')
}

/**
 * Drives a call to its end, from its first step (`Steps`), and gives the value of its outcome. `portOf` gives for a port and a method
 * who answers it: `methods`, an object that has the method, and `isLocal` where it is the library itself, which always ends and is
 * always waited for; or null. `keep` is called once nothing of the call is left but its outcome.
 */
async function drive(given) {
  const told = await new Promise((resolve, reject) => { new Drive(given, resolve, reject).begin() })
  if (told.failed !== undefined) throw surfaced(new GallivantError(told.failed), given.signal)
  given.keep()
  return outcomeOf(told)
}

/**
 * A call that its signal has ended rejects with the signal's reason. But where the provider may own the work, that is what
 * the caller has to hear: the reason is its cause then.
 */
function surfaced(error, signal) {
  if (!signal?.aborted || error.reason !== 'aborted') return error
  if (error.code !== 'EXECUTION_ACCEPTANCE_UNKNOWN') return signal.reason
  error.cause = signal.reason
  return error
}

/**
 * A call that is driven. Its steps and methods call each other back, without a promise between them. What a method needs is made and
 * put away while a worker has the step: a hop takes long, and the event loop has nothing else to do for this call meanwhile.
 */
class Drive {
  #given
  #resolve
  #reject
  #told = null
  /** Who answers the method that runs, what it is given, and its end; the second is null while none runs. */
  #port = null
  #call = null
  #running = null
  /** When that method is late, by `performance.now()`. */
  due = 0

  constructor(given, resolve, reject) {
    this.#given = given
    this.#resolve = resolve
    this.#reject = reject
  }

  begin() {
    const { steps, signal } = this.#given
    steps.begin(signal, (told) => {
      signal?.addEventListener('abort', this.#onAbort)
      this.#take(told)
    }, this.#onBroken)
    spare ??= new Call()
  }

  #take(told) {
    this.#told = told
    try {
      if (Array.isArray(told)) {
        this.#carryOut(told)
        return
      }
    } catch (error) {
      this.#onBroken(error)
      return
    }
    this.#given.signal?.removeEventListener('abort', this.#onAbort)
    this.#resolve(told)
  }

  #onTaken = (told) => this.#take(told)

  /** A machine that is left in the middle would keep the task's lock. */
  #onBroken = (error) => {
    const { steps, signal } = this.#given
    signal?.removeEventListener('abort', this.#onAbort)
    if (Array.isArray(this.#told)) steps.drop().then(() => this.#reject(error), this.#reject)
    else this.#reject(error)
  }

  #onAbort = () => {
    const { steps, signal } = this.#given
    steps.giveUp()
    this.#cut('abort', signal.reason)
  }

  #onDropped = (reason) => this.#cut('drop', reason)

  /** The deadline of the method has come. */
  late() { this.#cut('deadline', new DOMException('the deadline of the call has passed', 'TimeoutError')) }

  #carryOut(told) {
    const { steps, portOf, host, limits, signal } = this.#given
    const [id, method] = [told[ID], told[METHOD]]
    const port = portOf(told[PORT], method)
    if (port === null) {
      this.#feed('fail', failureOf(new TransportError('io', 'a driver of a transport has no process host')), false)
      return
    }
    if (steps.outstandingId !== id) throw steps.ended.reason
    if (signal?.aborted) {
      this.#feed('abort', undefined, false)
      return
    }
    const input = inputOf(told)
    const call = callFor(told[DEADLINE_AT], limits, told[INPUT])
    this.#port = port
    this.#call = call
    this.#running = begun(port.methods, method, input, call)
      .then((reply) => this.#ended(call, reply), (thrown) => this.#threw(call, thrown))
    this.due = performance.now() + Math.max(told[DEADLINE_AT] - args.wallMs(host), 0)
    deadlines.watch(this)
    steps.onEnd = this.#onDropped
    // The method may have done either before it returned.
    if (steps.outstandingId !== id) this.#onDropped(steps.ended.reason)
    else if (signal?.aborted) this.#cut('abort', signal.reason)
  }

  #ended(call, reply) {
    if (this.#call !== call) return
    let text
    try {
      text = replyOf(reply)
    } catch (thrown) {
      this.#threw(call, thrown)
      return
    }
    this.#feed('reply', text, call[CARRIED].isSending)
    this.#put()
  }

  #threw(call, thrown) {
    if (this.#call !== call) return
    this.#feed('fail', failureOf(thrown), call[CARRIED].isSending)
    this.#put()
  }

  #feed(how, text, isSending) {
    this.#given.steps.feed(how, this.#told[ID], text, isSending, this.#onTaken, this.#onBroken)
  }

  /** No method runs any more. */
  #put() {
    this.#call = null
    deadlines.forget(this)
    this.#given.steps.onEnd = null
  }

  /** Ends the method that runs, if one does, before it has ended by itself. */
  async #cut(how, reason) {
    const [call, port, running] = [this.#call, this.#port, this.#running]
    if (call === null) return
    this.#put()
    try {
      // Whoever has fired the caller's signal or closed the boundary is not to be called back in the middle of that.
      await null
      call[CARRIED].fire(reason)
      if (port.isLocal) await running
      if (how === 'drop') throw reason
      if (!port.isLocal) await within(GRACE_MS, running)
      this.#feed(how, undefined, call[CARRIED].isSending)
    } catch (error) {
      this.#onBroken(error)
    }
  }
}

/** What ends a method, and whether it has begun to send. */
class Carried extends Ending {
  isSending = false
}

/** Under this a call has what ends its method. */
const CARRIED = Symbol('carried')

/** The signal is made for whoever looks at it, through a copy or a proxy too. */
const SIGNAL = { get() { return this[CARRIED].signal }, enumerable: true }

/** What a method is given besides its input. The getter is one for all: of one for each, the engine would keep a shape for each. */
class Call {
  constructor() {
    const carried = new Carried()
    Object.defineProperty(this, CARRIED, { value: carried })
    Object.defineProperty(this, 'signal', SIGNAL)
    this.deadlineAt = NaN
    this.limits = null
    this.inputJson = ''
    this.sending = () => { carried.isSending = true }
  }
}

/** One that was made ahead. */
let spare = null

function callFor(deadlineAt, limits, inputJson) {
  const call = spare ?? new Call()
  spare = null
  call.deadlineAt = deadlineAt
  call.limits = limits
  call.inputJson = inputJson
  return Object.freeze(call)
}

/** Begins a method: a promise of its reply. What it throws at once rejects it too. */
function begun(methods, method, input, call) {
  try {
    return Promise.resolve(methods[method](input, call))
  } catch (thrown) {
    return Promise.reject(thrown)
  }
}

/** Runs a method that no machine has asked for, at most for as long as it is said; also gives when, and whether it called `sending()`. */
async function runAlone(transport, { method, input, deadlineMs }, limits) {
  const askedAt = Date.now()
  const call = callFor(askedAt + deadlineMs, limits, textOf(input))
  const ended = (reply) => ({ how: 'ended', text: replyOf(reply), thrown: undefined })
  const running = begun(transport, method, input, call).then(ended).catch((thrown) => ({ how: 'ended', text: undefined, thrown }))
  let timer
  const late = new Promise((resolve) => { timer = setTimeout(() => resolve({ how: 'deadline' }), deadlineMs) })
  const end = await Promise.race([running, late])
  clearTimeout(timer)
  if (end.how !== 'ended') {
    call[CARRIED].fire(new DOMException('the deadline of the call has passed', 'TimeoutError'))
    await within(GRACE_MS, running)
  }
  return { ...end, askedAt, endedAt: Date.now(), sending: call[CARRIED].isSending }
}

async function within(ms, running) {
  let timer
  const over = new Promise((resolve) => { timer = setTimeout(resolve, ms) })
  await Promise.race([running, over])
  clearTimeout(timer)
}

module.exports = { METHODS, drive, methodsOf, runAlone }
