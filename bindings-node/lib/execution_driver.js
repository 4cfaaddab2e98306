'use strict'
/**
 * The host driver: carries out what a machine asks of a transport and of other ports, and ends each method at its deadline or at
 * the caller's signal (EX-TRA-02 to EX-TRA-05, EX-TRA-29, EX-TRA-34).
 */

const args = require('./arguments.js')
const { TransportError } = require('./execution_errors.js')
const { replyOf } = require('./execution_json.js')
const { ENDED, Ending } = require('./execution_machine.js')
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
 * Drives a machine to its end, and gives the value of its outcome. `portOf` gives for a call who answers it: `methods`, an object
 * that has the method, and `isLocal` where it is the library itself, which always ends and is always waited for; or null.
 */
async function drive({ machine, portOf, host, limits, signal }) {
  const giveUp = () => machine.giveUp()
  let step = null
  try {
    step = await machine.start({ signal })
    signal?.addEventListener('abort', giveUp, { once: true })
    while (step.kind === 'call') step = await carriedOut(step, { machine, portOf, host, limits, signal })
  } catch (error) {
    // A machine that is left in the middle would keep the task's lock.
    if (step?.kind === 'call') await machine.drop()
    throw error
  } finally {
    signal?.removeEventListener('abort', giveUp)
  }
  if (step.kind === 'failed') throw surfaced(step.error, signal)
  return step.value
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

async function carriedOut(call, { machine, portOf, host, limits, signal }) {
  const { id, method } = call
  const port = portOf(call)
  if (port === null) {
    return machine.fail(id, new TransportError('io', 'a driver of a transport has no process host'))
  }
  if (machine.outstandingId !== id) throw call.signal.reason
  if (signal?.aborted) return machine.abort(id, signal.reason)
  const state = { isSending: false }
  const ending = new Ending()
  const common = Object.freeze({
    get signal() { return ending.signal },
    deadlineAt: call.deadlineAt,
    limits,
    inputJson: call.inputJson,
    sending() { state.isSending = true },
  })
  const running = run(port.methods, method, call.input, common)
  const end = await first(running, call, { machine, host, signal })
  if (end.how === 'dropped') {
    ending.fire(end.reason)
    if (port.isLocal) await running
    throw end.reason
  }
  if (end.how !== 'ended') {
    ending.fire(end.reason)
    await (port.isLocal ? running : within(GRACE_MS, running))
  }
  if (state.isSending) await machine.sending(id)
  switch (end.how) {
    case 'deadline': return machine.deadline(id)
    case 'aborted': return machine.abort(id, end.reason)
    default: return 'text' in end ? machine.reply(id, end.text) : machine.fail(id, end.thrown)
  }
}

/** Runs a method to its end. Whatever it throws, at once or later, and a reply that has no text, is its failure. */
async function run(methods, method, input, common) {
  try {
    return { how: 'ended', text: replyOf(await methods[method](input, common)) }
  } catch (thrown) {
    return { how: 'ended', thrown }
  }
}

/** Runs a method that no machine has asked for, at most for as long as it is said; also gives when, and whether it called `sending()`. */
async function runAlone(transport, { method, input, deadlineMs }, limits) {
  const ending = new Ending()
  const askedAt = Date.now()
  let sending = false
  const common = Object.freeze({
    get signal() { return ending.signal },
    deadlineAt: askedAt + deadlineMs,
    limits,
    inputJson: textOf(input),
    sending() { sending = true },
  })
  const running = run(transport, method, input, common)
  let timer
  const late = new Promise((resolve) => { timer = setTimeout(() => resolve({ how: 'deadline' }), deadlineMs) })
  const end = await Promise.race([running, late])
  clearTimeout(timer)
  if (end.how !== 'ended') {
    ending.fire(new DOMException('the deadline of the call has passed', 'TimeoutError'))
    await within(GRACE_MS, running)
  }
  return { ...end, askedAt, endedAt: Date.now(), sending }
}

/** How the wait for a method ends: it has ended, its deadline has come, its caller gives up, or the machine is gone. */
function first(running, call, { machine, host, signal }) {
  return new Promise((resolve) => {
    const aborted = () => end({ how: 'aborted', reason: signal.reason })
    const timer = setTimeout(
      () => end({ how: 'deadline', reason: new DOMException('the deadline of the call has passed', 'TimeoutError') }),
      Math.max(call.deadlineAt - Number(host.wallMs()), 0),
    )
    function end(how) {
      clearTimeout(timer)
      machine[ENDED] = null
      signal?.removeEventListener('abort', aborted)
      resolve(how)
    }
    machine[ENDED] = (reason) => end({ how: 'dropped', reason })
    signal?.addEventListener('abort', aborted)
    running.then(end)
    // The method may have done either before it returned.
    if (machine.outstandingId !== call.id) end({ how: 'dropped', reason: call.signal.reason })
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
