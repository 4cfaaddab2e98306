/** The example's transport over REST, against a provider in a process of its own: lost replies, cursors, stops, quiet. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { CAPABILITIES, hostedAgents } from '../../examples/node-coordinator/transport.mjs'
import { checkTransport, makeExecution, unresolved } from '../lib/execution.js'
import { until } from '../test-support/creates.mjs'
import { providerFor } from '../test-support/provider.mjs'
import { directoryFor } from '../test-support/seat.mjs'

const KEY = 'the-key-of-a-test'
const WORK = { operationId: 'op-1', prompt: 'mend the build', reservationUsd: 2 }
const told = ({ code, reason }) => [code, reason]
const caught = (promise) => promise.then(() => assert.fail('it has succeeded'), (error) => error)

function boundaryOf(t, root, provider, more = {}) {
  const execution = makeExecution({
    root, taskId: 'task', provider: 'hosted-agents', account: 'me', budgetUsd: 20, health: 'external', capabilities: CAPABILITIES,
    transport: hostedAgents({ address: provider.address, key: KEY }), secrets: [KEY], ...more,
  })
  t.after(() => execution.close())
  return execution
}

async function both(t) {
  const directory = directoryFor(t)
  const [root, provider] = [join(directory, 'task'), await providerFor(t, join(directory, 'provider.json'))]
  return { root, provider, execution: boundaryOf(t, root, provider) }
}

test('ex_led_34_a_lost_submit_reply_is_recovered_by_look_up_and_never_by_a_second_submit', async (t) => {
  const { root, provider, execution } = await both(t)
  await provider.control('/fail', { route: 'create', how: 'lose-reply' })
  assert.deepEqual(told(await caught(execution.submit(WORK))), ['EXECUTION_ACCEPTANCE_UNKNOWN', 'io'])
  // Asked again it sends nothing, and nothing else of the task is sent either.
  assert.deepEqual(told(await caught(execution.submit(WORK))), ['EXECUTION_ACCEPTANCE_UNKNOWN', 'unresolved'])
  assert.equal((await caught(execution.submit({ ...WORK, operationId: 'op-2' }))).code, 'EXECUTION_UNRESOLVED')
  assert.equal((await unresolved(root)).length, 1)
  assert.deepEqual(await provider.control(''), { requests: { create: 1 }, jobs: 1, turns: 1, cancellations: 0, connections: 0 })
  // Both sides may crash in between.
  await execution.close()
  await provider.stop()
  await provider.start()
  const next = boundaryOf(t, root, provider)
  const report = await next.startup()
  assert.deepEqual([report.acceptance, report.error, report.called], ['accepted', null, ['lookup']])
  assert.deepEqual(await unresolved(root), [])
  const again = await next.submit(WORK)
  assert.deepEqual([again.reused, again.acknowledgement.providerJobId], [true, 'job-1'])
  const { requests, jobs, turns } = await provider.control('')
  assert.deepEqual({ requests, jobs, turns }, { requests: { find: 1 }, jobs: 1, turns: 1 })
})

test('ex_tra_23_a_look_up_that_finds_nothing_frees_nothing', async (t) => {
  const { root, provider, execution } = await both(t)
  await provider.control('/fail', { route: 'create', how: 500 })
  assert.deepEqual(told(await caught(execution.submit(WORK))), ['EXECUTION_ACCEPTANCE_UNKNOWN', 'io'])
  assert.equal((await execution.startup()).acceptance, 'unknown')
  assert.equal((await unresolved(root)).length, 1)
  assert.equal((await provider.control('')).requests.create, 1)
  assert.ok(!readFileSync(join(root, 'execution.json'), 'utf8').includes(KEY))
})

test('ex_tra_28_without_an_address_nothing_was_sent', async (t) => {
  const root = directoryFor(t)
  const execution = boundaryOf(t, root, { address: null })
  assert.deepEqual(told(await caught(execution.submit(WORK))), ['EXECUTION_DISPATCH_REFUSED', 'dispatch-refused'])
  assert.deepEqual(await unresolved(root), [])
})

test('ex_bnd_11_turns_are_followed_by_cursor_collected_and_continued', async (t) => {
  const { root, provider, execution } = await both(t)
  const { runId } = await execution.submit(WORK)
  const [job, turn] = ['job-1', 'turn-1']
  for (const text of ['one', 'two', 'three']) await provider.control('/turn', { job, turn, state: 'running', event: { type: 'message', data: { text } } })
  await execution.reconcile({ force: true })
  assert.equal((await execution.inspect()).execution.cursor, 2)
  await provider.control('/fail', { route: 'look', how: 429, retryAfter: 120 })
  const refused = await execution.reconcile({ force: true })
  assert.deepEqual(told(refused.error), ['EXECUTION_IO', 'rate'])
  assert.ok(refused.nextAttemptAt >= Date.now() + 60_000)
  await execution.reconcile({ force: true })
  await provider.control('/turn', { job, turn, state: 'succeeded', costUsd: 0.5 })
  const early = await execution.startup()
  assert.deepEqual([early.state, told(early.error)], ['retrieving-results', ['EXECUTION_RESULT', 'missing']])
  await provider.control('/turn', { job, turn, output: 'it is mended' })
  assert.equal((await execution.startup()).error, null)
  const { ok, cost, costNanoUsd } = await execution.outcome(runId)
  assert.deepEqual([ok, cost, costNanoUsd], [true, 0.5, 500_000_000n])
  assert.equal((await execution.check(runId)).records, 3)
  assert.ok(readFileSync(join(root, runId, 'events.jsonl'), 'utf8').includes('three'))
  const next = await execution.continue({ ...WORK, operationId: 'op-2', prompt: 'and the tests' })
  assert.deepEqual([next.acknowledgement.providerJobId, next.acknowledgement.turnId], ['job-1', 'turn-2'])
  assert.equal((await provider.control('')).jobs, 1)
})

test('an_end_is_said_with_the_last_page_of_events_and_not_before', async (t) => {
  const { provider, execution } = await both(t)
  const { runId } = await execution.submit(WORK)
  const [job, turn] = ['job-1', 'turn-1']
  for (let at = 1; at <= 5; at += 1) await provider.control('/turn', { job, turn, state: 'running', event: { type: 'message', data: `line ${at}` } })
  await provider.control('/turn', { job, turn, state: 'succeeded', costUsd: 0.5, output: 'it is mended' })
  const states = []
  while (await execution.outcome(runId) === null) states.push((await execution.startup()).state)
  assert.deepEqual(states.slice(0, 2), ['running', 'running'])
  const { records, gaps } = await execution.check(runId)
  assert.deepEqual([records, gaps], [5, []])
})

test('ex_can_09_a_lost_reply_to_a_stop_is_sent_again_with_its_key', async (t) => {
  const { provider, execution } = await both(t)
  await execution.submit(WORK)
  await provider.control('/fail', { route: 'cancel', how: 'lose-reply' })
  assert.deepEqual(await execution.cancel({ reason: 'enough' }), { confirmed: false })
  const report = await execution.startup()
  assert.deepEqual([report.state, report.error], ['cancelled', null])
  const { cancellations, requests } = await provider.control('')
  assert.deepEqual([cancellations, requests.cancel <= 2], [1, true])
})

test('ex_tra_05_a_provider_that_hangs_ends_at_the_deadline', async (t) => {
  const { root, provider } = await both(t)
  const execution = boundaryOf(t, root, provider, { limits: { deadlineMs: 2_000 } })
  await provider.control('/fail', { route: 'create', how: 'hang' })
  const began = performance.now()
  assert.deepEqual(told(await caught(execution.submit(WORK))), ['EXECUTION_ACCEPTANCE_UNKNOWN', 'deadline'])
  assert.ok(performance.now() - began < 15_000)
  assert.equal((await execution.startup()).acceptance, 'accepted')
  await provider.control('/fail', { route: 'look', how: 'hang' })
  assert.deepEqual(told((await execution.startup()).error), ['EXECUTION_DEADLINE', 'deadline'])
})

test('an_answer_that_is_cut_or_no_json_is_a_failure_of_that_call_alone', async (t) => {
  const { root, provider, execution } = await both(t)
  await provider.control('/fail', { route: 'create', how: 'cut-body' })
  assert.deepEqual(told(await caught(execution.submit(WORK))), ['EXECUTION_ACCEPTANCE_UNKNOWN', 'io'])
  // A look-up that is not understood leaves everything as it was.
  await provider.control('/fail', { route: 'find', how: 'garbage' })
  const misunderstood = await execution.startup()
  assert.deepEqual([told(misunderstood.error), misunderstood.acceptance], [['EXECUTION_PROTOCOL', 'protocol'], 'unknown'])
  assert.equal((await execution.startup()).acceptance, 'accepted')
  for (const [how, said] of [['garbage', ['EXECUTION_PROTOCOL', 'protocol']], ['cut-body', ['EXECUTION_IO', 'io']], [502, ['EXECUTION_IO', 'io']]]) {
    await provider.control('/fail', { route: 'look', how })
    assert.deepEqual(told((await execution.startup()).error), said, String(how))
  }
  await provider.stop()
  assert.deepEqual(told((await execution.startup()).error), ['EXECUTION_IO', 'io'])
  await execution.close()
  await provider.start()
  const next = boundaryOf(t, root, provider)
  assert.equal((await next.startup()).error, null)
  assert.deepEqual((await provider.control('/books')).turns.map(({ came }) => came), [1])
})

test('ex_tra_07_nothing_stays_open_and_nothing_is_asked_by_itself', async (t) => {
  const { provider, execution } = await both(t)
  await execution.submit(WORK)
  for (let at = 0; at < 3; at += 1) await execution.reconcile({ force: true })
  // The provider sees the end of a connection when it comes to look.
  await until(async () => (await provider.control('')).connections === 0, 'no connection is left')
  const before = await provider.control('')
  assert.deepEqual([before.requests, before.connections], [{ create: 1, look: 3 }, 0])
  await pause(250)
  assert.deepEqual(await provider.control(''), before)
})

test('ex_tra_07_ex_tra_21_the_check_finds_nothing_in_the_example_and_names_what_a_worse_one_does', { timeout: 180_000 }, async (t) => {
  const { provider } = await both(t)
  const look = async () => {
    const { requests, jobs, cancellations, connections } = await provider.control('')
    return { requests: Object.values(requests).reduce((sum, count) => sum + count, 0), jobs, cancellations, openHandles: connections }
  }
  const options = { taskId: 'task', provider: 'hosted-agents', account: 'me', capabilities: CAPABILITIES, look }
  const good = hostedAgents({ address: provider.address, key: KEY })
  assert.deepEqual(await checkTransport(good, options), [])
  assert.deepEqual((await provider.control('/books')).turns.map(({ state, came }) => [state, came]), [['cancelled', 1], ['cancelled', 1]])
  // It asks again by itself, with another key each time, and its stops have a key of their own.
  let count = 0
  const bad = {
    async submit(input, call) {
      for (const word of ['a', 'b']) await good.submit({ ...input, idempotencyKey: `${input.idempotencyKey}-${word}` }, call)
      return good.submit(input, call)
    },
    async inspect() { throw new Error('not written yet') },
    async cancel(input, call) {
      count += 1
      await good.cancel({ ...input, idempotencyKey: `${input.idempotencyKey}-${count}` }, call)
      return { confirmed: 'yes' }
    },
  }
  const found = await checkTransport(bad, options)
  assert.deepEqual(found.map(({ clause, method }) => `${clause} ${method}`), [
    'EX-TRA-01 continue', 'EX-TRA-01 collect', 'EX-TRA-07 submit', 'EX-TRA-07 submit', 'EX-TRA-26 inspect', 'EX-TRA-20 cancel', 'EX-TRA-21 cancel',
  ])
  await assert.rejects(checkTransport(good, { ...options, taskId: '' }), (error) => error.code === 'EXECUTION_INPUT')
  await assert.rejects(checkTransport(good, { ...options, look: undefined }), (error) => error.code === 'GALLIVANT_INPUT')
})
