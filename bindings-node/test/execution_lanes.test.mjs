/** Lanes: how many run, in which order, what a slow or failing one costs the others, and what waits for a probe. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { HealthStore, runDispatchLane, runLane, runProgressLane } from '../lib/execution.js'
import { WORK, boundaryFor, memoryTransport } from '../test-support/execution.mjs'
import { directoryFor } from '../test-support/seat.mjs'

const ME = { provider: 'memory', account: 'me' }
const YOU = { provider: 'memory', account: 'you' }
const refusal = (code, reason = null) => (error) => {
  assert.deepEqual([error.code, error.reason], [code, reason], error.stack)
  return true
}

test('ex_sch_25_at_most_so_many_run_at_a_time_and_a_failure_costs_no_other_its_slot', async () => {
  let [now, most] = [0, 0]
  const started = []
  const tasks = Array.from({ length: 9 }, (_, at) => async () => {
    started.push(at)
    now += 1
    most = Math.max(most, now)
    await pause(at === 0 ? 80 : 5)
    now -= 1
    if (at === 3) throw new Error('three')
    return at
  })
  tasks.push(() => { throw new Error('at once') })
  const results = await runLane(tasks, 3)
  assert.deepEqual([most, started], [3, [0, 1, 2, 3, 4, 5, 6, 7, 8]])
  assert.deepEqual(results.map(({ value, reason }) => value ?? reason.message), [0, 1, 2, 'three', 4, 5, 6, 7, 8, 'at once'])
  assert.deepEqual(await runLane([]), [])
  await assert.rejects(runLane(tasks, 0), refusal('EXECUTION_INPUT', 'limits'))
  await assert.rejects(runLane([1]), refusal('GALLIVANT_INPUT', 'argument'))
})

test('ex_sch_26_the_progress_lane_passes_those_that_are_due', async (t) => {
  const made = () => {
    const memory = memoryTransport()
    return { ...memory, execution: boundaryFor(t, directoryFor(t), memory.transport) }
  }
  const [due, quiet, closed] = [made(), made(), made()]
  await due.execution.submit(WORK)
  await due.execution.requestCancel({ reason: 'enough', controlId: 'c-1' })
  await closed.execution.close()
  const passes = await runProgressLane([quiet.execution, due.execution, closed.execution], { concurrency: 2 })
  assert.deepEqual(passes.map(({ execution }) => execution), [due.execution, closed.execution])
  assert.deepEqual([passes[0].report.called.includes('cancel'), passes[0].error], [true, null])
  assert.deepEqual([passes[1].report, passes[1].error.reason], [null, 'closed'])
  assert.equal(quiet.seen.length, 0)
})

test('ex_sch_29_to_ex_sch_31_refused_dispatches_are_tried_once_more_after_their_probe', async (t) => {
  const store = new HealthStore(join(directoryFor(t), 'health'))
  const execution = boundaryFor(t, directoryFor(t), memoryTransport().transport, { health: store })
  await assert.rejects(execution.submit(WORK), refusal('EXECUTION_HEALTH'))
  const tried = []
  const dispatches = [
    { scope: ME, retry: () => execution.submit(WORK) },
    { scope: YOU, retry: () => tried.push('you') },
    { scope: ME, retry: () => { throw new Error('mine') } },
  ]
  const options = { timeoutMs: 60_000 }
  // No probe is under way: all stay refused, at once.
  assert.deepEqual(await runDispatchLane(store, dispatches, options), Array(3).fill({ status: 'refused' }))
  const refresh = await store.begin(ME)
  const running = runDispatchLane(store, dispatches, options)
  await pause(30)
  assert.equal((await execution.inspect()).runId, null)
  await refresh.record({ ok: true })
  const [first, second, third] = await running
  assert.deepEqual([first.value.acceptance, second, third.reason.message, tried], ['accepted', { status: 'refused' }, 'mine', []])
})

test('ex_sch_29_a_probe_that_ends_while_the_lane_looks_is_not_missed', { timeout: 120_000 }, async (t) => {
  // Longer than the test: a probe that was missed would keep the lane for all of it.
  const options = { timeoutMs: 600_000 }
  for (let turn = 0; turn < 30; turn += 1) {
    const store = new HealthStore(join(directoryFor(t), 'health'))
    const refresh = await store.begin(ME)
    const running = runDispatchLane(store, [{ scope: ME, retry: () => turn }], options)
    await refresh.record({ ok: true })
    assert.deepEqual(await running, [{ status: 'fulfilled', value: turn }])
    const second = await store.begin(ME)
    const waiting = runDispatchLane(store, [{ scope: ME, retry: () => assert.fail('it was refused') }], options)
    if (turn % 2 === 1) await new Promise(setImmediate)
    second.giveUp()
    assert.deepEqual(await waiting, [{ status: 'refused' }])
  }
})

test('ex_sch_29_a_lane_that_starts_while_a_probe_is_begun_is_told_of_its_end', { timeout: 120_000 }, async (t) => {
  for (let turn = 0; turn < 30; turn += 1) {
    const store = new HealthStore(join(directoryFor(t), 'health'))
    const beginning = store.begin(ME)
    // Where the worker has begun it and this thread does not know of it yet.
    while (!store.scheduled(ME));
    const running = runDispatchLane(store, [{ scope: ME, retry: () => turn }], { timeoutMs: 600_000 })
    const refresh = await beginning
    await pause(5)
    await refresh.record({ ok: true })
    assert.deepEqual(await running, [{ status: 'fulfilled', value: turn }])
  }
})

test('ex_sch_31_a_probe_that_fails_or_is_not_over_leaves_them_refused', async (t) => {
  const store = new HealthStore(join(directoryFor(t), 'health'))
  const dispatches = [{ scope: ME, retry: () => assert.fail('it was refused') }]
  const refused = [{ status: 'refused' }]
  for (const end of [(refresh) => refresh.record({ ok: false, code: 'auth', remedy: 'sign in' }), (refresh) => refresh.giveUp()]) {
    const refresh = await store.begin(ME)
    const running = runDispatchLane(store, dispatches, { timeoutMs: 60_000, concurrency: 1 })
    await end(refresh)
    assert.deepEqual(await running, refused)
  }
  const refresh = await store.begin(ME)
  assert.deepEqual(await runDispatchLane(store, dispatches, { timeoutMs: 30 }), refused)
  // Longer than a timer of the engine's may be.
  const stop = new AbortController()
  const waiting = runDispatchLane(store, dispatches, { timeoutMs: 2 ** 40, signal: stop.signal })
  assert.equal(await Promise.race([waiting, pause(30, 'it waits')]), 'it waits')
  stop.abort()
  assert.deepEqual(await waiting, refused)
  assert.deepEqual(await runDispatchLane(store, dispatches, { timeoutMs: 60_000, signal: AbortSignal.timeout(30) }), refused)
  assert.deepEqual(await runDispatchLane(store, dispatches, { timeoutMs: 60_000, signal: AbortSignal.abort() }), refused)
  assert.equal(refresh.giveUp(), true)
  await assert.rejects(runDispatchLane({}, dispatches, { timeoutMs: 1 }), refusal('GALLIVANT_INPUT', 'argument'))
  await assert.rejects(runDispatchLane(store, [{ scope: ME }], { timeoutMs: 1 }), refusal('GALLIVANT_INPUT', 'argument'))
})
