/** Raw steps: what a machine asks, what it refuses, how it is dropped; and the fault points of a test's host. */

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { RawJson, TransportError, makeExecution, unresolved } from '../lib/execution.js'
import { TestHost } from '../lib/testing.js'
import { CAPABILITY, WORK, boundaryFor, memoryTransport, optionsFor } from '../test-support/execution.mjs'
import { HERE, PROJECT, directoryFor } from '../test-support/seat.mjs'

const OWNED = { providerJobId: 'job-1', turnId: 'turn-1' }
const NOW = 1_780_000_000_000
const refusal = (code, reason = null) => (error) => {
  assert.deepEqual([error.code, error.reason], [code, reason], error.stack)
  return true
}

/** A boundary on a manual clock, and its machine for a submit that has asked. */
async function asked(t, more = {}) {
  const root = directoryFor(t)
  const machine = new TestHost({ wallMs: NOW })
  const execution = boundaryFor(t, root, memoryTransport().transport, { host: machine.host, ...more })
  const call = execution.machine('submit', WORK)
  return { root, execution, machine, call, step: await call.start() }
}

test('ex_bnd_39_a_machine_hands_out_one_call_and_is_fed_its_end', async (t) => {
  const { call, step } = await asked(t)
  const { kind, port, method, input, inputJson, deadlineAt, signal, id } = step
  assert.deepEqual([kind, port, method, deadlineAt, call.outstandingId], ['call', 'transport', 'submit', NOW + 20_000, id])
  assert.deepEqual([JSON.parse(inputJson), signal.aborted], [input, false])
  const done = await call.reply(id, OWNED)
  assert.deepEqual([done.kind, done.value.acceptance, JSON.parse(done.json).acceptance], ['done', 'accepted', 'accepted'])
  assert.deepEqual([call.outstandingId, call.method], [null, 'submit'])
  assert.match(inspect(call), /^Machine \{ method: 'submit', outstandingId: null \}$/)
})

test('ex_bnd_40_the_intent_is_durable_before_its_call_is_handed_out', async (t) => {
  const { root, step } = await asked(t)
  const ledger = JSON.parse(readFileSync(join(root, 'execution.json'), 'utf8'))
  assert.ok(JSON.stringify(ledger.operations).includes(step.input.idempotencyKey))
  assert.equal((await unresolved(root)).length, 1)
})

test('ex_bnd_42_what_belongs_to_no_outstanding_call_is_refused_and_changes_nothing', async (t) => {
  const { root, execution, call, step } = await asked(t)
  const before = readFileSync(join(root, 'execution.json'))
  const isRefused = refusal('EXECUTION_INPUT', 'reply')
  await assert.rejects(call.reply(step.id + 1000, { providerJobId: 'job-f', turnId: 'f' }), isRefused)
  await assert.rejects(call.fail(step.id + 1000, new Error('x')), isRefused)
  await assert.rejects(call.deadline(step.id + 1000), isRefused)
  await assert.rejects(call.abort(step.id + 1000), isRefused)
  await assert.rejects(call.sending(step.id + 1000), isRefused)
  await assert.rejects(call.start(), isRefused)
  await assert.rejects(call.reply('1', OWNED), refusal('GALLIVANT_INPUT', 'argument'))
  assert.deepEqual(readFileSync(join(root, 'execution.json')), before)
  assert.deepEqual([call.outstandingId, step.signal.aborted], [step.id, false])
  // Both are begun at once: the first is the end of the call.
  const [first, second] = await Promise.allSettled([call.reply(step.id, OWNED), call.reply(step.id, { ...OWNED, turnId: 'other' })])
  assert.deepEqual([first.value.value.acknowledgement.turnId, second.status, isRefused(second.reason)], ['turn-1', 'rejected', true])
  await assert.rejects(execution.machine('submit').reply(1, OWNED), isRefused)
  await assert.rejects(execution.machine('inspect').start().then(() => call.reply(step.id, OWNED)), isRefused)
})

test('ex_bnd_41_deadlines_and_aborts_are_fed_and_fire_the_signal', async (t) => {
  for (const [end, reason] of [['deadline', 'deadline'], ['abort', 'aborted']]) {
    const { call, step } = await asked(t)
    const why = new Error('why')
    const { kind, error } = await call[end](step.id, why)
    assert.deepEqual([kind, error.code, error.reason], ['failed', 'EXECUTION_ACCEPTANCE_UNKNOWN', reason])
    assert.equal(step.signal.aborted, true)
    assert.equal(end === 'abort' ? step.signal.reason === why : step.signal.reason.name === 'TimeoutError', true)
  }
  // A reply at the deadline is no reply.
  const { call, step, machine } = await asked(t)
  machine.setWallMs(step.deadlineAt)
  assert.equal((await call.reply(step.id, OWNED)).error.reason, 'deadline')
})

test('ex_tra_29_after_sending_not_sent_is_not_believed', async (t) => {
  const { call, step } = await asked(t)
  await call.sending(step.id)
  const { error } = await call.fail(step.id, new TransportError('not-sent', 'x', { code: 'offline' }))
  assert.deepEqual([error.code, error.reason], ['EXECUTION_ACCEPTANCE_UNKNOWN', 'io'])
})

test('ex_bnd_36_a_machine_that_is_dropped_equals_a_crash', async (t) => {
  const { root, execution, call, step } = await asked(t, { limits: { lockWaitMs: 0 } })
  const before = readFileSync(join(root, 'execution.json'))
  await assert.rejects(execution.startup(), refusal('EXECUTION_BUSY'))
  await call.drop()
  assert.equal(step.signal.aborted, true)
  assert.deepEqual(readFileSync(join(root, 'execution.json')), before)
  await assert.rejects(call.reply(step.id, OWNED), refusal('GALLIVANT_INPUT', 'closed'))
  await call.drop()
  assert.equal((await execution.startup()).acceptance, 'unknown')
})

test('ex_bnd_36_with_its_boundary_a_machine_is_closed_whatever_is_fed_to_it', async (t) => {
  const { execution, call, step } = await asked(t)
  const closing = execution.close()
  const isClosed = refusal('GALLIVANT_INPUT', 'closed')
  const feeds = [() => call.reply(step.id, OWNED), () => call.fail(step.id, new Error('x')), () => call.deadline(step.id), () => call.abort(step.id), () => call.sending(step.id)]
  await closing
  for (const feed of feeds) await assert.rejects(feed(), isClosed)
  await call.drop()
  await assert.rejects(call.reply(step.id, OWNED), isClosed)
})

test('ex_pre_10_a_caller_who_gives_up_gets_no_receipt', async (t) => {
  const execution = boundaryFor(t, directoryFor(t), memoryTransport().transport)
  const call = execution.machine('prepare', { operationId: 'op-p', phase: 'draft', prompt: 'x' })
  const { id } = await call.start()
  call.giveUp()
  const { error } = await call.reply(id, { boundary: 'memory:none', authority: 'text-only', grant: null })
  assert.equal(error.reason, 'aborted')
})

test('ex_bnd_20_reads_are_done_with_their_first_step', async (t) => {
  const execution = boundaryFor(t, directoryFor(t), memoryTransport().transport)
  const { kind, value } = await execution.machine('inspect').start()
  assert.deepEqual([kind, value.runId], ['done', null])
  const { error } = await execution.machine('dance', new RawJson('{}')).start()
  assert.equal(error.code, 'EXECUTION_INPUT')
  assert.equal((await execution.machine('outcome', new RawJson('[')).start()).error.code, 'EXECUTION_INPUT')
})

test('ex_bnd_24_a_process_run_asks_the_process_host', async (t) => {
  const root = directoryFor(t)
  const capabilities = { ...CAPABILITY, location: 'local', transport: 'cli', preparation: null }
  const execution = boundaryFor(t, root, undefined, { capabilities, runner: true })
  const call = execution.machine('submit', { ...WORK, spec: { argv: ['true'], cwd: root, env: {} } })
  const step = await call.start()
  assert.deepEqual([step.kind, step.port], ['call', 'process'], inspect(step))
})

test('ex_sea_04_a_write_fails_where_the_script_says', async (t) => {
  const root = directoryFor(t)
  const machine = new TestHost({ points: JSON.stringify([{ point: 'persist:execution.json', nth: 2, action: 'fail' }]) })
  const execution = boundaryFor(t, root, memoryTransport().transport, { host: machine.host })
  await assert.rejects(execution.submit(WORK), ({ code }) => code.startsWith('EXECUTION_'))
  assert.equal((await unresolved(root)).length, 1)
  assert.equal((await execution.reconcile({ force: true })).acceptance, 'accepted')
})

test('ex_sea_13_a_crash_ends_the_process_with_its_status', async (t) => {
  const root = directoryFor(t)
  const script = `
    import { makeExecution } from ${JSON.stringify(new URL('../lib/execution.js', import.meta.url).href)}
    import { TestHost } from ${JSON.stringify(new URL('../lib/testing.js', import.meta.url).href)}
    import { memoryTransport, optionsFor, WORK } from ${JSON.stringify(`file://${join(HERE, 'execution.mjs')}`)}
    const machine = new TestHost({ points: [{ point: 'dispatch.intent', action: 'crash' }] })
    await makeExecution(optionsFor(${JSON.stringify(root)}, memoryTransport().transport, { host: machine.host })).submit(WORK)
  `
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [86, ''])
  assert.equal((await unresolved(root)).length, 1)
})

test('ex_sea_05_a_pause_holds_a_call_until_it_is_told_to_go_on', async (t) => {
  const root = directoryFor(t)
  const points = [{ point: 'dispatch.intent', action: 'pause' }]
  let seen
  const held = new Promise((resolve) => { seen = resolve })
  const machine = new TestHost({ points, onPause: seen })
  const { transport, seen: calls } = memoryTransport()
  const done = boundaryFor(t, root, transport, { host: machine.host }).submit(WORK)
  const { point, resume } = await held
  assert.deepEqual([point, calls.length, (await unresolved(root)).length], ['dispatch.intent', 0, 1])
  assert.equal(resume(), true)
  assert.equal((await done).acceptance, 'accepted')
  // Nobody asks to be told: it goes on at once.
  const other = makeExecution(optionsFor(directoryFor(t), transport, { host: new TestHost({ points }).host }))
  assert.equal((await other.submit(WORK)).acceptance, 'accepted')
  await other.close()
})

test('ex_sea_11_the_test_driver_drops_a_boundary_and_its_calls', { timeout: 120_000 }, async (t) => {
  const root = directoryFor(t)
  const options = { ...optionsFor(root, undefined), transport: { methods: Object.keys(memoryTransport().transport) } }
  delete options.root
  const open = { cmd: 'open', id: 1, root, now: NOW, jitter: 1, options, faults: [] }
  const input = [open, { cmd: 'call', id: 2, method: 'submit', args: WORK }].map((line) => JSON.stringify(line)).join('\n')
  const driver = spawn(join(PROJECT, 'tests', 'adapters', 'drive'), ['node'], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => driver.kill('SIGKILL'))
  driver.stdin.write(`${input}\n`)
  const said = []
  for await (const line of createInterface({ input: driver.stdout })) {
    said.push(JSON.parse(line))
    // Dropped in the middle of the call.
    if (said.at(-1).ask !== undefined) driver.stdin.write('{"cmd":"drop","id":3}\n')
    if (said.at(-1).done === 3) driver.stdin.end()
  }
  assert.deepEqual(said.map(({ done, ask, aborted }) => [done ?? null, ask === undefined ? null : 'ask', aborted === undefined ? null : 'aborted']), [
    [1, null, null], [null, 'ask', null], [null, null, 'aborted'], [3, null, null],
  ])
})
