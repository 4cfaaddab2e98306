/** The health of accounts: who is authorised, whose check is due, and what a boundary makes of it. */

import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { HealthStore, Refresh } from '../lib/execution.js'
import { TestHost } from '../lib/testing.js'
import { WORK, boundaryFor, memoryTransport } from '../test-support/execution.mjs'
import { directoryFor } from '../test-support/seat.mjs'

const NOW = 1_780_000_000_000
const ME = { provider: 'memory', account: 'me' }
const YOU = { provider: 'memory', account: 'you' }
const FAILED = { ok: false, code: 'auth', remedy: 'sign in again' }
const refusal = (code, reason = null) => (error) => {
  assert.deepEqual([error.code, error.reason], [code, reason], error.stack)
  return true
}

function storeFor(t, options) {
  const root = join(directoryFor(t), 'health')
  const machine = new TestHost({ wallMs: NOW, jitter: 1 })
  return { root, machine, store: new HealthStore(root, { host: machine.host, ...options }) }
}

test('ex_sch_12_ex_sch_15_a_success_authorises_until_its_check_is_due_again', async (t) => {
  const { root, machine, store } = storeFor(t, { scopes: [ME] })
  assert.deepEqual([await store.authorize(ME), await store.healthStatus(ME), existsSync(root)], [false, null, false])
  assert.deepEqual(await store.due(), [ME])
  store.want(YOU)
  assert.deepEqual(await store.due(), [ME, YOU])
  const record = await store.record(ME, { ok: true, evidence: { n: 2n ** 70n } })
  assert.deepEqual([record.ok, record.nextAttemptAt, record.failures, record.evidence.n], [true, NOW + 60_000, 0, 2n ** 70n])
  assert.deepEqual([await store.authorize(ME), await store.authorize(YOU), await store.due()], [true, false, [YOU]])
  machine.advanceMs(60_000)
  assert.deepEqual([await store.authorize(ME), await store.due()], [false, [ME, YOU]])
  const failed = await store.record(ME, FAILED)
  assert.deepEqual([failed.ok, failed.failures, failed.code, failed.nextAttemptAt], [false, 1, 'auth', NOW + 70_000])
  assert.deepEqual(await new HealthStore(root).healthStatus(ME), failed)
  assert.match(inspect(store), /^HealthStore/)
})

test('ex_sch_13_authority_ends_before_the_refresh_and_comes_back_with_its_result', async (t) => {
  const { store } = storeFor(t)
  await store.record(ME, { ok: true })
  const refresh = await store.begin(ME)
  assert.ok(refresh instanceof Refresh)
  assert.deepEqual([refresh.scope, store.scheduled(ME), await store.authorize(ME)], [ME, true, false])
  assert.equal(await store.begin(ME), null)
  assert.equal(await store.joinScheduled(YOU, { timeoutMs: 60_000 }), 'not-scheduled')
  assert.equal(await store.joinScheduled(ME, { timeoutMs: 20 }), 'under-way')
  const why = new Error('enough')
  const waiting = store.joinScheduled(ME, { timeoutMs: 60_000, signal: AbortSignal.timeout(30) })
  await assert.rejects(waiting, { name: 'TimeoutError' })
  await assert.rejects(store.joinScheduled(ME, { timeoutMs: 1, signal: AbortSignal.abort(why) }), (error) => error === why)
  // Longer than a timer of the engine's may be.
  const joined = store.joinScheduled(ME, { timeoutMs: 2n ** 40n })
  assert.equal(await Promise.race([joined, pause(30, 'it waits')]), 'it waits')
  await assert.rejects(refresh.record({ ok: false }), refusal('EXECUTION_INPUT'))
  assert.equal(store.scheduled(ME), true)
  await refresh.record({ ok: true })
  assert.deepEqual([await joined, store.scheduled(ME), await store.authorize(ME)], ['over', false, true])
  await assert.rejects(refresh.record({ ok: true }), refusal('GALLIVANT_INPUT', 'closed'))
  const second = await store.begin(ME)
  const over = store.joinScheduled(ME, { timeoutMs: 60_000 })
  assert.deepEqual([second.giveUp(), second.giveUp(), await over, await store.authorize(ME)], [true, false, 'over', false])
  const third = await store.begin(ME)
  if (Symbol.dispose === undefined) third.giveUp()
  else third[Symbol.dispose]()
  assert.equal(store.scheduled(ME), false)
})

test('ex_sch_16_a_boundary_refuses_by_its_store_before_anything_is_saved', async (t) => {
  const { store } = storeFor(t)
  const root = directoryFor(t)
  const { seen, transport } = memoryTransport()
  const execution = boundaryFor(t, root, transport, { health: store })
  assert.equal(await execution.healthStatus(), null)
  assert.equal(await execution.isDue(), false)
  await assert.rejects(execution.submit(WORK), refusal('EXECUTION_HEALTH'))
  await store.record(ME, FAILED)
  await assert.rejects(execution.submit(WORK), ({ remedy }) => remedy === 'sign in again')
  assert.deepEqual([seen.length, readdirSync(root).includes('execution.json')], [0, false])
  await assert.rejects(boundaryFor(t, root, transport, { health: undefined }).submit(WORK), refusal('EXECUTION_HEALTH'))
})

test('ex_sch_11_a_boundary_dispatches_by_a_success_in_its_store', async (t) => {
  const health = new HealthStore(join(directoryFor(t), 'health'))
  await health.record(ME, { ok: true })
  const execution = boundaryFor(t, directoryFor(t), memoryTransport().transport, { health })
  assert.equal((await execution.submit(WORK)).acceptance, 'accepted')
  assert.equal((await execution.healthStatus()).ok, true)
  assert.equal(await execution.isDue(), false)
  await execution.requestCancel({ reason: 'enough', controlId: 'c-1' })
  assert.equal(await execution.isDue(), true)
  await assert.rejects(execution.interrupt({ reason: 'enough' }), refusal('EXECUTION_CAPABILITY', 'interrupt'))
})

test('ex_red_23_a_store_keeps_no_secret_and_refuses_what_is_no_scope', async (t) => {
  const { root, store } = storeFor(t, { secrets: ['hunter2-hunter2'] })
  await store.record(ME, { ...FAILED, evidence: 'for hunter2-hunter2' })
  const [file] = readdirSync(root).filter((name) => name.endsWith('.json'))
  assert.ok(!readFileSync(join(root, file), 'utf8').includes('hunter2'))
  assert.throws(() => storeFor(t, { secrets: ['hunter2-hunter2', 7] }), refusal('EXECUTION_INPUT', 'secret'))
  assert.throws(() => storeFor(t, { limits: { lockWaitMs: -1 } }), refusal('EXECUTION_INPUT', 'limits'))
  assert.throws(() => storeFor(t, { scopes: [{ provider: '', account: 'a' }] }), refusal('EXECUTION_INPUT'))
  assert.throws(() => store.want({ provider: 'p' }), refusal('GALLIVANT_INPUT', 'argument'))
  await assert.rejects(store.authorize({ provider: 'p', account: '' }), refusal('EXECUTION_INPUT'))
  assert.throws(() => new Refresh(), TypeError)
})
