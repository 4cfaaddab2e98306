/** The host driver: deadlines, signals, failures, waiting for the lock, and the end of a boundary. */

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { readFile, readdir } from 'node:fs/promises'
import { existsSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { TransportError, collectionValidationError, dispatchNotSentError, makeExecution, unresolved } from '../lib/execution.js'
import turns from '../lib/execution_turns.js'
import { TestHost } from '../lib/testing.js'
import { CAPABILITY, WORK, boundaryFor, memoryTransport, optionsFor } from '../test-support/execution.mjs'
import { PACKAGE, directoryFor } from '../test-support/seat.mjs'

const QUICK = { limits: { deadlineMs: 1_000 } }
const caught = (promise) => promise.then(() => assert.fail('it has succeeded'), (error) => error)
const told = ({ code, reason }) => [code, reason]

/** A boundary whose transport has other methods than the one in memory. */
function over(t, methods, more) {
  const root = directoryFor(t)
  const memory = memoryTransport()
  return { root, ...memory, execution: boundaryFor(t, root, { ...memory.transport, ...methods }, more) }
}

test('ex_tra_03_a_method_is_told_of_its_deadline_and_its_late_reply_is_dropped', async (t) => {
  let reason = null
  const { execution, root } = over(t, {
    submit: (_, { signal }) => new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason
        resolve({ providerJobId: 'job-late', turnId: 'turn-late' })
      })
    }),
  }, QUICK)
  const began = performance.now()
  assert.deepEqual(told(await caught(execution.submit(WORK))), ['EXECUTION_ACCEPTANCE_UNKNOWN', 'deadline'])
  assert.equal(reason.name, 'TimeoutError')
  const took = performance.now() - began
  assert.ok(took >= 995 && took < 15_000, `${took} ms`)
  assert.ok(!(await readFile(join(root, 'execution.json'), 'utf8')).includes('job-late'))
})

test('ex_tra_02_what_a_method_is_given_is_frozen_and_may_be_copied_and_wrapped', async (t) => {
  const seen = []
  const { execution, transport } = over(t, {
    submit: (input, call) => {
      const { signal } = call
      seen.push(Object.isFrozen(call), Object.keys(call).sort(), [{ ...call }, Object.create(call), new Proxy(call, {})].map((it) => it.signal === signal))
      return transport.submit(input, call)
    },
  })
  await execution.submit(WORK)
  assert.deepEqual(seen, [true, ['deadlineAt', 'inputJson', 'limits', 'sending', 'signal'], [true, true, true]])
})

test('ex_tra_03_each_of_many_methods_has_a_deadline_of_its_own', async (t) => {
  const began = performance.now()
  const asked = []
  const late = (deadlineMs, given) => {
    const { execution } = over(t, {
      submit: (_, { signal }) => new Promise((resolve) => {
        asked.push(signal)
        signal.addEventListener('abort', () => resolve(null))
      }),
    }, { limits: { deadlineMs } })
    return caught(execution.submit(WORK, given)).then((error) => [...told(error), performance.now() - began])
  }
  const controller = new AbortController()
  const latest = late(120_000, { signal: controller.signal })
  const unless = latest.then(() => assert.fail('the latest was over before'))
  while (asked.length === 0) await pause(5)
  const others = await Promise.race([Promise.all([1_000, 2_000].map((deadlineMs) => late(deadlineMs))), unless])
  for (const [at, [code, reason, took]] of others.entries()) {
    assert.deepEqual([code, reason], ['EXECUTION_ACCEPTANCE_UNKNOWN', 'deadline'])
    assert.ok(took >= 1_000 * (at + 1) - 5, `${took} ms`)
  }
  assert.equal(asked[0].aborted, false)
  unless.catch(() => {})
  controller.abort(new Error('enough'))
  assert.deepEqual((await latest).slice(0, 2), ['EXECUTION_ACCEPTANCE_UNKNOWN', 'aborted'])
})

test('ex_tra_03_a_deadline_that_nothing_waits_for_any_more_keeps_no_program_alive', (t) => {
  const root = directoryFor(t)
  const { transport, ...options } = optionsFor(root, undefined)
  const script = `
    const { makeExecution } = require(${JSON.stringify(join(PACKAGE, 'lib', 'execution.js'))})
    const transport = { ...Object.fromEntries(${JSON.stringify(Object.keys(memoryTransport().transport))}.map((name) => [name, () => null])),
      submit: () => ({ providerJobId: 'job-1', turnId: 'turn-1' }) }
    makeExecution({ ...${JSON.stringify(options)}, transport }).submit(${JSON.stringify(WORK)}).then(({ acceptance }) => console.log(acceptance))
  `
  const began = performance.now()
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' })
  assert.deepEqual([status, stdout, stderr], [0, 'accepted\n', ''])
  assert.ok(performance.now() - began < 15_000)
})

test('many_calls_that_come_to_something_at_once_share_the_turns_of_the_loop', async () => {
  // Fewer calls than that do not add up to anything.
  assert.equal(turns.isOver(15), false)
  assert.equal(turns.isOver(16), false)
  const until = performance.now() + 3
  while (performance.now() < until);
  assert.deepEqual([turns.isOver(15), turns.isOver(16)], [false, true])
  let others = 0
  setImmediate(() => { others += 1 })
  await turns.another()
  assert.equal(others, 1)
  // A busy machine may take a new turn's time away before it is asked.
  for (let tries = 0; turns.isOver(16); tries += 1) {
    assert.ok(tries < 30, 'no turn has time left')
    await turns.another()
  }
})

test('ex_tra_05_a_method_that_never_settles_is_left_alone_a_second_later', async (t) => {
  const { execution } = over(t, { submit: () => new Promise(() => {}) }, QUICK)
  const began = performance.now()
  assert.deepEqual(told(await caught(execution.submit(WORK))), ['EXECUTION_ACCEPTANCE_UNKNOWN', 'deadline'])
  const took = performance.now() - began
  assert.ok(took >= 1_990 && took < 15_000, `${took} ms`)
})

test('ex_tra_34_whatever_a_method_throws_is_a_failure_and_the_boundary_goes_on', async (t) => {
  const evil = { get message() { throw new Error('no') } }
  const thrown = [new Error('x'), 'text', undefined, null, evil, { kind: 'rate' }, Object.assign(new Error('y'), { kind: 'not-sent' })]
  for (const what of thrown) {
    for (const inspect of [() => { throw what }, async () => { throw what }]) {
      const { execution } = over(t, { inspect })
      await execution.submit(WORK)
      assert.deepEqual(told((await execution.reconcile({ force: true })).error), ['EXECUTION_IO', 'io'])
      assert.equal((await execution.inspect()).failures, 1)
    }
  }
})

test('ex_tra_10_a_forgotten_return_is_no_null', async (t) => {
  for (const reply of [undefined, () => {}, Symbol('x'), 'no json', 7, { cyclic: null }]) {
    if (reply?.cyclic === null) reply.cyclic = reply
    const { execution, root } = over(t, { submit: async () => { throw new Error('lost') }, lookup: async () => reply })
    await caught(execution.submit(WORK))
    const { error } = await execution.reconcile({ force: true })
    assert.ok(['EXECUTION_PROTOCOL', 'EXECUTION_IO'].includes(error.code), String(reply))
    assert.equal((await unresolved(root)).length, 1)
  }
})

test('ex_tra_26_to_ex_tra_30_what_a_transport_error_is_believed_to_say', async (t) => {
  const submitted = async (submit) => {
    const { execution, root } = over(t, { submit })
    return [...told(await caught(execution.submit(WORK))), (await unresolved(root)).length]
  }
  assert.deepEqual(await submitted(async () => { throw dispatchNotSentError('no-route', 'offline') }), ['EXECUTION_DISPATCH_REFUSED', 'dispatch-refused', 0])
  assert.deepEqual(await submitted(() => { throw dispatchNotSentError('no-route', 'offline') }), ['EXECUTION_DISPATCH_REFUSED', 'dispatch-refused', 0])
  assert.deepEqual(await submitted(async (_, call) => {
    call.sending()
    throw dispatchNotSentError('no-route', 'offline')
  }), ['EXECUTION_ACCEPTANCE_UNKNOWN', 'io', 1])
  const inspected = async (error) => {
    const { execution } = over(t, { inspect: async () => { throw error } })
    await execution.submit(WORK)
    return told((await execution.reconcile({ force: true })).error)
  }
  assert.deepEqual(await inspected(dispatchNotSentError('x', 'y')), ['EXECUTION_IO', 'io'])
  assert.deepEqual(await inspected(collectionValidationError('x', 'y')), ['EXECUTION_IO', 'io'])
  assert.deepEqual(await inspected(new TransportError('protocol', 'x')), ['EXECUTION_PROTOCOL', 'protocol'])
  assert.deepEqual(await inspected(new TransportError('auth', 'x', { retryAfterMs: Number.NaN })), ['EXECUTION_IO', 'auth'])
  const error = new TransportError('rate', 'later', { retryAfterMs: 5, code: 'slow', cause: 1 })
  assert.deepEqual([error.name, error.kind, error.retryAfterMs, error.code, error.cause], ['TransportError', 'rate', 5, 'slow', 1])
})

test('ex_tra_30_a_faulty_artifact_rejects_the_result_for_good', async (t) => {
  const { execution, jobs } = over(t, { collect: async () => { throw collectionValidationError('digest', 'it does not match') } })
  const { runId } = await execution.submit(WORK)
  for (const job of jobs.values()) job.state = 'succeeded'
  await execution.startup()
  const outcome = await execution.outcome(runId)
  assert.deepEqual([outcome.resultRejected, outcome.ok], [true, false])
})

test('ex_tra_04_a_signal_that_has_fired_before_runs_nothing', async (t) => {
  const { execution, root, seen } = over(t, {})
  const why = new Error('not now')
  assert.equal(await caught(execution.submit(WORK, { signal: AbortSignal.abort(why) })), why)
  assert.deepEqual([seen.length, await readdir(root)], [0, []])
  assert.deepEqual(told(await caught(execution.submit(WORK, { signal: 7 }))), ['GALLIVANT_INPUT', 'argument'])
})

test('ex_tra_04_a_signal_reaches_the_method_and_comes_back_as_its_reason', async (t) => {
  const heard = []
  let abort
  const hangs = (_, { signal }) => new Promise((_, reject) => {
    signal.addEventListener('abort', () => {
      heard.push(signal.reason)
      reject(signal.reason)
    })
    // Once it is asked, however long that took.
    setTimeout(abort, 10)
  })
  const why = new Error('enough')
  const soon = () => {
    const controller = new AbortController()
    abort = () => controller.abort(why)
    return { signal: controller.signal }
  }
  const prepare = over(t, { prepare: hangs })
  assert.equal(await caught(prepare.execution.prepare({ operationId: 'op-p', phase: 'draft', prompt: 'x' }, soon())), why)
  // Where the provider may own the work, that is what is said.
  const submit = over(t, { submit: hangs })
  const error = await caught(submit.execution.submit(WORK, soon()))
  assert.deepEqual([...told(error), error.cause], ['EXECUTION_ACCEPTANCE_UNKNOWN', 'aborted', why])
  assert.equal((await unresolved(submit.root)).length, 1)
  // A pass that has saved why it comes again has an answer.
  const inspect = over(t, { inspect: hangs })
  await inspect.execution.submit(WORK)
  const report = await inspect.execution.reconcile({ force: true }, soon())
  assert.deepEqual(told(report.error), ['EXECUTION_IO', 'aborted'])
  assert.deepEqual(heard, [why, why, why])
})

test('ex_tra_04_a_call_listens_once_to_its_signal_and_not_any_more_once_it_has_ended', async (t) => {
  const { signal } = new AbortController()
  const seen = []
  const { execution } = over(t, {
    inspect: async () => {
      await pause(5)
      seen.push(getEventListeners(signal, 'abort').length)
      throw new Error('x')
    },
  })
  await execution.submit(WORK, { signal })
  await execution.reconcile({ force: true }, { signal })
  await caught(execution.continue({}, { signal }))
  assert.deepEqual([seen, getEventListeners(signal, 'abort').length], [[1], 0])
})

test('ex_tra_05_a_late_end_of_one_method_is_not_taken_for_that_of_the_next', async (t) => {
  const asked = []
  let end
  const { execution, transport } = over(t, {
    cancel: () => new Promise((resolve) => {
      asked.push('cancel')
      end = resolve
    }),
    inspect: async (input, call) => {
      asked.push('inspect')
      end({ confirmed: true })
      await pause(20)
      return transport.inspect(input, call)
    },
  }, QUICK)
  await execution.submit(WORK)
  await execution.requestCancel({ reason: 'stop', controlId: 'stop' })
  const { error } = await execution.reconcile({ force: true })
  assert.deepEqual([asked, told(error), (await execution.inspect()).failures], [['cancel', 'inspect'], ['EXECUTION_DEADLINE', 'deadline'], 0])
})

test('ex_bnd_41_a_signal_ends_the_wait_for_the_lock_and_nothing_is_written', async (t) => {
  const { execution, root, transport } = over(t, {})
  const holder = execution.machine('submit', WORK)
  assert.equal((await holder.start()).kind, 'call')
  const other = boundaryFor(t, root, transport, { limits: { lockWaitMs: 60_000 } })
  const before = await readFile(join(root, 'execution.json'), 'utf8')
  const why = new Error('too long')
  const controller = new AbortController()
  setTimeout(() => controller.abort(why), 100)
  const began = performance.now()
  assert.equal(await caught(other.cancel({ reason: 'stop' }, { signal: controller.signal })), why)
  assert.ok(performance.now() - began < 30_000)
  assert.equal(await readFile(join(root, 'execution.json'), 'utf8'), before)
  const hasty = boundaryFor(t, root, transport, { limits: { lockWaitMs: 30 } })
  assert.deepEqual(told(await caught(hasty.submit({ ...WORK, operationId: 'op-2' }))), ['EXECUTION_BUSY', null])
  assert.deepEqual(told(await caught(boundaryFor(t, root, transport, { limits: { lockWaitMs: 0 } }).startup())), ['EXECUTION_BUSY', null])
  await holder.drop()
})

test('ex_led_70_those_who_wait_hold_no_worker_and_go_on_when_the_lock_is_free', async (t) => {
  const { execution, root, transport } = over(t, {})
  const holder = execution.machine('submit', WORK)
  const { id } = await holder.start()
  const patient = { limits: { lockWaitMs: 60_000 } }
  const waiting = Array.from({ length: 12 }, () => boundaryFor(t, root, transport, patient).reconcile({ force: true }))
  let ended = 0
  for (const one of waiting) one.finally(() => { ended += 1 }).catch(() => {})
  // With every worker held these reads would wait until a call has given the lock up.
  for (let at = 0; at < 50; at += 1) await readFile(new URL(import.meta.url))
  assert.equal(ended, 0)
  const done = await holder.reply(id, { providerJobId: 'job-1', turnId: 'turn-job-1' })
  assert.equal(done.kind, 'done')
  for (const report of await Promise.all(waiting)) assert.equal(report.acceptance, 'accepted')
})

test('ex_can_50_a_stop_waits_for_a_publication_no_longer_than_it_should', async (t) => {
  let onPause
  const held = new Promise((resolve) => { onPause = resolve })
  const machine = new TestHost({ points: [{ point: 'cancel.record', action: 'pause' }], onPause })
  const { execution, root, transport } = over(t, {}, { host: machine.host })
  await execution.submit(WORK)
  const stopping = execution.cancel({ reason: 'stop' })
  const { point, resume } = await held
  const began = performance.now()
  const other = boundaryFor(t, root, transport)
  assert.deepEqual(told(await caught(other.requestCancel({ reason: 'stop', controlId: 'c-1' }))), ['EXECUTION_PUBLICATION_BUSY', null])
  const took = performance.now() - began
  assert.ok(took >= 95 && took < 4500, `${took} ms`)
  assert.deepEqual([point, resume(), resume()], ['cancel.record', true, false])
  assert.deepEqual(await stopping, { confirmed: true })
})

test('ex_bnd_36_closing_a_boundary_ends_its_calls_and_releases_the_lock', async (t) => {
  let signal = null
  const { execution, root, transport } = over(t, {
    submit: (_, call) => {
      signal = call.signal
      return new Promise(() => {})
    },
  })
  const running = caught(execution.submit(WORK))
  while (signal === null) await pause(5)
  const waits = caught(execution.reconcile())
  await pause(20)
  await (Symbol.asyncDispose === undefined ? execution.close() : execution[Symbol.asyncDispose]())
  assert.deepEqual([told(await running), told(await waits)], Array(2).fill(['GALLIVANT_INPUT', 'closed']))
  assert.equal(signal.aborted, true)
  assert.deepEqual(told(await caught(execution.inspect())), ['GALLIVANT_INPUT', 'closed'])
  assert.throws(() => execution.dirOf('r-1'), ({ reason }) => reason === 'closed')
  await execution.close()
  const next = boundaryFor(t, root, transport, { limits: { lockWaitMs: 0 } })
  assert.equal((await next.startup()).acceptance, 'unknown')
})

test('ex_bnd_36_a_boundary_that_is_closed_in_a_step_calls_nobody_afterwards', async (t) => {
  let onPause
  const held = new Promise((resolve) => { onPause = resolve })
  const machine = new TestHost({ points: [{ point: 'dispatch.intent', action: 'pause' }], onPause })
  const { execution, root, seen } = over(t, {}, { host: machine.host })
  const running = caught(execution.submit(WORK))
  const { resume } = await held
  const closing = execution.close()
  assert.equal(resume(), true)
  await closing
  assert.deepEqual(told(await running), ['GALLIVANT_INPUT', 'closed'])
  assert.deepEqual([seen.length, (await unresolved(root)).length], [0, 1])
})

test('ex_bnd_35_two_boundaries_of_one_root_give_the_results_of_one', async (t) => {
  const { execution, root, seen, transport } = over(t, {})
  const other = boundaryFor(t, root, transport)
  const all = await Promise.all([execution.submit(WORK), other.submit(WORK), execution.submit(WORK)])
  assert.deepEqual(all.map(({ reused }) => reused).sort(), [false, true, true])
  assert.deepEqual(seen.map(({ name }) => name), ['submit'])
})

test('ex_jrn_34_a_queue_of_local_output_that_makes_no_sense_refuses_a_new_intent', async (t) => {
  const root = directoryFor(t)
  writeFileSync(join(root, 'local-output-queue.json'), '{"version":1,"runs":"none"}')
  const capabilities = { ...CAPABILITY, location: 'local', transport: 'cli', preparation: null }
  const execution = boundaryFor(t, root, undefined, { capabilities, runner: true, budgetUsd: undefined })
  const error = await execution.submit({ operationId: 'op-1', prompt: 'do it' }).catch((thrown) => thrown)
  assert.equal(error.code, 'EXECUTION_QUEUE')
  assert.equal(existsSync(join(root, 'execution.json')), false)
})

test('ex_bnd_24_a_driver_of_transports_starts_no_process', async (t) => {
  const root = directoryFor(t)
  const capabilities = { ...CAPABILITY, location: 'local', transport: 'cli', preparation: null }
  const execution = boundaryFor(t, root, undefined, { capabilities, runner: true })
  const error = await caught(execution.submit({ ...WORK, spec: { argv: ['true'], cwd: root, env: {} } }))
  assert.deepEqual(told(error), ['EXECUTION_ACCEPTANCE_UNKNOWN', 'io'])
})

test('ex_bnd_34_a_worker_thread_that_ends_in_the_middle_leaves_what_a_crash_leaves', async (t) => {
  const root = directoryFor(t)
  const script = `
    const { parentPort, workerData } = require('node:worker_threads')
    const { makeExecution } = require(workerData.file)
    const transport = { ...Object.fromEntries(workerData.methods.map((name) => [name, () => null])), submit() {
      parentPort.postMessage('asked')
      return new Promise(() => {})
    } }
    makeExecution({ ...workerData.options, transport }).submit(workerData.work)
  `
  const { transport, ...options } = optionsFor(root, undefined)
  const methods = Object.keys(memoryTransport().transport)
  const worker = new Worker(script, { eval: true, workerData: { file: join(PACKAGE, 'lib', 'execution.js'), methods, options, work: WORK } })
  await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
  await worker.terminate()
  const next = makeExecution(optionsFor(root, memoryTransport().transport, { limits: { lockWaitMs: 2000 } }))
  assert.equal((await next.startup()).acceptance, 'unknown')
  await next.close()
  assert.ok(existsSync(join(root, 'execution.json')))
})
