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
async function drive({ steps, portOf, host, limits, signal, keep }) {
  const giveUp = signal === undefined ? undefined : () => steps.giveUp()
  let told = null
  try {
    told = await steps.start(signal)
    signal?.addEventListener('abort', giveUp, { once: true })
    while (Array.isArray(told)) told = await carriedOut(told, { steps, portOf, host, limits, signal })
  } catch (error) {
    // A machine that is left in the middle would keep the task's lock.
    if (Array.isArray(told)) await steps.drop()
    throw error
  } finally {
    signal?.removeEventListener('abort', giveUp)
  }
  if (told.failed !== undefined) throw surfaced(new GallivantError(told.failed), signal)
  keep()
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

async function carriedOut(told, { steps, portOf, host, limits, signal }) {
  const [id, method] = [told[ID], told[METHOD]]
  const port = portOf(told[PORT], method)
  if (port === null) {
    return steps.fail(id, failureOf(new TransportError('io', 'a driver of a transport has no process host')), false)
  }
  if (steps.outstandingId !== id) throw steps.ended.reason
  if (signal?.aborted) return steps.abort(id, false)
  const carried = new Carried()
  const call = new Call(carried, told[DEADLINE_AT], limits, told[INPUT])
  const running = run(port.methods, method, inputOf(told), call)
  const end = await first(running, told, { steps, host, signal })
  if (end.how !== 'ended') {
    carried.fire(end.reason)
    if (port.isLocal) await running
    if (end.how === 'dropped') throw end.reason
    if (!port.isLocal) await within(GRACE_MS, running)
  }
  const { isSending } = carried
  switch (end.how) {
    case 'deadline': return await steps.deadline(id, isSending)
    case 'aborted': return await steps.abort(id, isSending)
    default:
      if (end.text === undefined) return await steps.fail(id, failureOf(end.thrown), isSending)
      return await steps.reply(id, end.text, isSending)
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
  constructor(carried, deadlineAt, limits, inputJson) {
    Object.defineProperty(this, CARRIED, { value: carried })
    Object.defineProperty(this, 'signal', SIGNAL)
    this.deadlineAt = deadlineAt
    this.limits = limits
    this.inputJson = inputJson
    this.sending = () => { carried.isSending = true }
    Object.freeze(this)
  }
}

/** Runs a method to its end. Whatever it throws, at once or later, and a reply that has no text, is its failure. */
async function run(methods, method, input, call) {
  try {
    return { how: 'ended', text: replyOf(await methods[method](input, call)), thrown: undefined }
  } catch (thrown) {
    return { how: 'ended', text: undefined, thrown }
  }
}

/** Runs a method that no machine has asked for, at most for as long as it is said; also gives when, and whether it called `sending()`. */
async function runAlone(transport, { method, input, deadlineMs }, limits) {
  const carried = new Carried()
  const askedAt = Date.now()
  const call = new Call(carried, askedAt + deadlineMs, limits, textOf(input))
  const running = run(transport, method, input, call)
  let timer
  const late = new Promise((resolve) => { timer = setTimeout(() => resolve({ how: 'deadline' }), deadlineMs) })
  const end = await Promise.race([running, late])
  clearTimeout(timer)
  if (end.how !== 'ended') {
    carried.fire(new DOMException('the deadline of the call has passed', 'TimeoutError'))
    await within(GRACE_MS, running)
  }
  return { ...end, askedAt, endedAt: Date.now(), sending: carried.isSending }
}

/** How the wait for a method ends: it has ended, its deadline has come, its caller gives up, or the machine is gone. */
function first(running, told, { steps, host, signal }) {
  return new Promise((resolve) => {
    const aborted = signal === undefined ? undefined : () => end({ how: 'aborted', reason: signal.reason })
    const due = performance.now() + Math.max(told[DEADLINE_AT] - args.wallMs(host), 0)
    const deadline = {
      due, late: () => end({ how: 'deadline', reason: new DOMException('the deadline of the call has passed', 'TimeoutError') }),
    }
    const dropped = (reason) => end({ how: 'dropped', reason })
    function end(how) {
      deadlines.forget(deadline)
      steps.onEnd = null
      signal?.removeEventListener('abort', aborted)
      resolve(how)
    }
    deadlines.watch(deadline)
    steps.onEnd = dropped
    signal?.addEventListener('abort', aborted)
    running.then(end)
    // The method may have done either before it returned.
    if (steps.outstandingId !== told[ID]) dropped(steps.ended.reason)
    else if (signal?.aborted) aborted()
  })
}

async function within(ms, running) {
  let timer
  const over = new Promise((resolve) => { timer = setTimeout(resolve, ms) })
  await Promise.race([running, over])
  clearTimeout(timer)
}

module.exports = { METHODS, drive, methodsOf, runAlone }
