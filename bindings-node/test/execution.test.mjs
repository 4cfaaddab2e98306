/** The boundary of a task: its methods, its reads, what is refused, amounts, digits, the registry and the pure functions. */

import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import * as ex from '../lib/execution.js'
import { TestHost } from '../lib/testing.js'
import { CAPABILITY, WORK, boundaryFor, memoryTransport, optionsFor } from '../test-support/execution.mjs'
import { directoryFor } from '../test-support/seat.mjs'

const refusal = (code, reason = null) => (error) => {
  assert.deepEqual({ code: error.code, reason: error.reason }, { code, reason }, error.stack)
  assert.ok(error.remedy.length > 0)
  return true
}

test('ex_bnd_09_ex_bnd_06_work_is_submitted_once_however_often_it_is_asked_for', async (t) => {
  const root = join(directoryFor(t), 'task')
  const { seen, transport } = memoryTransport()
  const execution = boundaryFor(t, root, transport)
  assert.equal(existsSync(root), false)
  const done = await execution.submit(WORK)
  assert.deepEqual([done.operationId, done.acceptance, done.reused], ['op-1', 'accepted', false])
  assert.deepEqual([done.acknowledgement.providerJobId, done.acknowledgement.sessionId], ['job-1', 'session-job-1'])
  assert.equal((await execution.submit(WORK)).reused, true)
  assert.deepEqual(seen.map(({ name }) => name), ['submit'])
  const { input, call } = seen[0]
  const names = { taskId: 'task', provider: 'memory', account: 'me' }
  assert.equal(input.idempotencyKey, ex.idempotencyKey({ ...names, runId: done.runId, operationId: 'op-1' }))
  assert.equal(done.runId, ex.runId({ ...names, operationId: 'op-1' }))
  assert.deepEqual([input.prompt, input.reservationUsd, input.preparation], ['do it', 0.5, null])
  assert.deepEqual(JSON.parse(call.inputJson), input)
  assert.deepEqual([call.limits.deadlineMs, Object.isFrozen(call.limits), call.signal.aborted], [20_000, true, false])
  assert.ok(call.deadlineAt > Date.now() - 1 && call.deadlineAt <= Date.now() + 20_000)
  assert.deepEqual(execution.limits, call.limits)
  assert.match(inspect(execution), /^Execution \{\s+limits/)
})

test('ex_bnd_10_to_ex_bnd_16_a_run_from_its_start_to_its_outcome', async (t) => {
  const root = directoryFor(t)
  const { jobs, seen, transport } = memoryTransport()
  const execution = boundaryFor(t, root, transport)
  const { runId } = await execution.submit(WORK)
  const first = await execution.reconcile({ force: true })
  assert.deepEqual([first.state, first.called, first.error], ['running', ['inspect'], null])
  assert.deepEqual((await execution.reconcile()).called, [])
  assert.equal(await execution.outcome(runId), null)
  const [job] = jobs.values()
  Object.assign(job, { state: 'succeeded', costUsd: 0.25, events: [{ eventId: 'e1', type: 'message', sequence: 1, timestamp: null, data: { text: 'hello' } }] })
  const second = await execution.startup()
  assert.deepEqual([second.terminalState, second.called, second.error], ['succeeded', ['inspect', 'collect'], null])
  const outcome = await execution.outcome(runId)
  assert.deepEqual([outcome.finished, outcome.ok, outcome.cost, outcome.costNanoUsd], [true, true, 0.25, 250_000_000n])
  const seenNow = await execution.inspect()
  assert.deepEqual([seenNow.state, seenNow.live, seenNow.costNanoUsd], ['succeeded', false, 250_000_000n])
  assert.equal((await execution.collect(runId)).runId, runId)
  assert.equal((await execution.read(runId)).runId, runId)
  assert.equal(await execution.read('r-none'), null)
  assert.equal(await execution.current(), null)
  assert.equal((await execution.check(runId)).records, 1)
  assert.notEqual(await execution.resultView(runId), null)
  assert.equal(execution.dirOf(runId), join(root, runId))
  const next = await execution.continue({ ...WORK, operationId: 'op-2', prompt: 'and now' })
  assert.equal(next.acceptance, 'accepted')
  const { input } = seen.at(-1)
  assert.deepEqual([input.sessionId, input.previous.providerJobId], ['session-job-1', 'job-1'])
  assert.deepEqual(await ex.unresolved(root), [])
})

test('ex_bnd_15_ex_bnd_37_stops_are_sent_queued_and_fenced', async (t) => {
  const root = directoryFor(t)
  const { seen, transport } = memoryTransport()
  const execution = boundaryFor(t, root, transport)
  const { runId } = await execution.submit(WORK)
  assert.deepEqual(await execution.requestCancel({ reason: 'enough', controlId: 'c-1', runId }), { queued: true })
  assert.deepEqual(await execution.cancel({ reason: 'enough' }), { confirmed: true })
  assert.equal(seen.at(-1).input.idempotencyKey, ex.cancellationKey({ taskId: 'task', provider: 'memory', account: 'me', runId }))
  await assert.rejects(execution.submit({ ...WORK, operationId: 'op-2' }), refusal('EXECUTION_FENCED'))
  for (const [stop, kind] of [['timeoutStop', 'timeout'], ['preparationStop', 'preparation']]) {
    const other = boundaryFor(t, directoryFor(t), memoryTransport().transport)
    assert.deepEqual(await other[stop]({ reason: 'late' }), { confirmed: false })
    assert.equal((await other.inspect()).stopFence.kind, kind)
  }
})

test('ex_pre_01_ex_pre_16_intake_has_a_receipt_and_a_standing', async (t) => {
  const execution = boundaryFor(t, directoryFor(t), memoryTransport().transport, { intakeDeadlineAt: 1000 })
  const { receipt, environment } = await execution.prepare({ operationId: 'op-p', phase: 'draft', prompt: 'plan it' })
  assert.deepEqual([receipt.boundary, environment], ['memory:none', { key: 'granted' }])
  const { runId } = await execution.submit({
    operationId: 'op-i', kind: 'intake', prompt: 'plan it', reservationUsd: 0.5, preparation: receipt, grant: environment,
  })
  assert.deepEqual(await execution.preparationStatus(runId), { status: 'preparing', nextAction: 'reconcile' })
  assert.equal(await execution.judgePreparation(runId), 'pending')
})

test('ex_bnd_44_ex_upg_04_an_operator_resolves_what_is_unknown', async (t) => {
  for (const act of ['adopt', 'settleAbsent']) {
    const root = directoryFor(t)
    const { transport } = memoryTransport()
    const execution = boundaryFor(t, root, { ...transport, submit: async () => { throw new Error('gone') } })
    await assert.rejects(execution.submit(WORK), refusal('EXECUTION_ACCEPTANCE_UNKNOWN', 'io'))
    const [{ operationId, runId, intentAt, remedy }] = await ex.unresolved(root)
    assert.deepEqual([operationId, typeof intentAt, remedy.length > 0], ['op-1', 'number', true])
    await assert.rejects(execution.submit({ ...WORK, operationId: 'op-2' }), refusal('EXECUTION_UNRESOLVED'))
    const evidence = 'seen in the console'
    const acknowledgement = { providerJobId: 'job-9', turnId: 'turn-9' }
    const settled = await execution[act](act === 'adopt' ? { operationId, acknowledgement, evidence } : { operationId, evidence })
    assert.deepEqual([settled.runId, settled.acceptance], [runId, act === 'adopt' ? 'accepted' : 'absent'])
    assert.deepEqual(await ex.unresolved(root), [])
  }
})

test('ex_bnd_17_a_lost_reply_to_an_answer_is_recovered_by_its_own_method', async (t) => {
  const { jobs, transport } = memoryTransport()
  const execution = boundaryFor(t, directoryFor(t), {
    ...transport,
    async continue(input, call) {
      await transport.continue(input, call)
      throw new ex.TransportError('io', 'the reply was lost')
    },
    recoverResponse: async (input) => ({ providerJobId: jobs.get(input.idempotencyKey).id, turnId: 'turn-r', sessionId: input.sessionId }),
  })
  await execution.submit(WORK)
  const [job] = jobs.values()
  job.state = 'waiting-for-input'
  await execution.reconcile({ force: true })
  const answer = { ...WORK, operationId: 'op-a', prompt: 'yes', response: { signature: 'sig-1', answer: true } }
  await assert.rejects(execution.continue(answer), refusal('EXECUTION_ACCEPTANCE_UNKNOWN', 'io'))
  const recovered = await execution.recoverResponse('op-a', answer)
  assert.deepEqual([recovered.acceptance, recovered.acknowledgement.turnId], ['accepted', 'turn-r'])
})

test('ex_bnd_04_ex_bnd_05_options_are_judged_where_the_boundary_is_made', (t) => {
  const root = directoryFor(t)
  const { transport } = memoryTransport()
  const made = (more) => () => ex.makeExecution(optionsFor(root, transport, more))
  assert.throws(made({ runner: true }), refusal('EXECUTION_INPUT'))
  assert.throws(made({ transport: undefined }), refusal('EXECUTION_INPUT'))
  assert.throws(made({ transport: undefined, runner: true }), refusal('EXECUTION_INPUT'))
  assert.throws(made({ taskId: '' }), refusal('EXECUTION_INPUT'))
  assert.throws(made({ limits: { deadlineMs: 0 } }), refusal('EXECUTION_INPUT', 'limits'))
  assert.throws(made({ secrets: ['s3cret-value', 7] }), refusal('EXECUTION_INPUT', 'secret'))
  assert.throws(made({ secrets: 's3cret-value' }), refusal('GALLIVANT_INPUT', 'argument'))
  assert.throws(made({ budget: 1 }), refusal('GALLIVANT_INPUT', 'unknown-member'))
  assert.throws(made({ transport: 7 }), refusal('GALLIVANT_INPUT', 'argument'))
  assert.throws(() => new ex.Execution(), TypeError)
})

test('ex_tra_01_ex_cap_24_methods_are_declared_by_being_there_and_records_are_copies', async (t) => {
  const { submit, ...without } = memoryTransport().transport
  const execution = boundaryFor(t, directoryFor(t), without)
  await assert.rejects(execution.submit(WORK), refusal('EXECUTION_CAPABILITY', 'unavailable'))
  for (const [name, value] of Object.entries(CAPABILITY)) assert.deepEqual(execution.capabilities()[name], value, name)
  execution.capabilities().cancel = false
  assert.equal(execution.capabilities().cancel, true)
  without.submit = submit
  await assert.rejects(execution.submit(WORK), refusal('EXECUTION_CAPABILITY', 'unavailable'))
})

test('ex_bnd_42_inputs_of_the_wrong_shape_reject_and_write_nothing', async (t) => {
  const root = join(directoryFor(t), 'task')
  const execution = boundaryFor(t, root, memoryTransport().transport)
  await assert.rejects(execution.submit({ operationId: 'op 1', prompt: 'x' }), refusal('EXECUTION_INPUT'))
  await assert.rejects(execution.submit('op-1'), refusal('EXECUTION_INPUT'))
  await assert.rejects(execution.submit(undefined), refusal('GALLIVANT_INPUT', 'argument'))
  await assert.rejects(execution.submit({ ...WORK, prompt: 'x\ud83d' }), /an escape is half a character/)
  await assert.rejects(execution.outcome(7), refusal('GALLIVANT_INPUT', 'argument'))
  await assert.rejects(execution.outcome('../x'), refusal('EXECUTION_INPUT'))
  assert.throws(() => execution.dirOf('../x'), refusal('EXECUTION_INPUT'))
  await assert.rejects(execution.outcome('r-1'), refusal('EXECUTION_UNKNOWN_RUN'))
  assert.equal(existsSync(root), false)
})

test('ex_cost_20_a_number_that_json_has_no_text_for_is_refused_and_not_left_out', async (t) => {
  const { seen, transport } = memoryTransport()
  const capabilities = { ...CAPABILITY, cost: { reports: true, hardCap: true } }
  const execution = boundaryFor(t, join(directoryFor(t), 'task'), transport, { capabilities })
  const refused = refusal('GALLIVANT_INPUT', 'argument')
  for (const more of [{ hardCapUsd: NaN }, { reservationUsd: Infinity }, { spec: { steps: [1, -Infinity] } }, { model: new Number(NaN) }]) {
    await assert.rejects(execution.submit({ ...WORK, ...more }), refused)
  }
  await assert.rejects(execution.submit({ ...WORK, hardCapUsd: NaN, spec: { long: 2n ** 64n } }), refused)
  assert.throws(() => execution.machine('submit', { ...WORK, hardCapUsd: NaN }), refused)
  const made = (more) => () => ex.makeExecution(optionsFor(directoryFor(t), transport, more))
  for (const more of [{ budgetUsd: NaN }, { intakeDeadlineAt: NaN }, { limits: { deadlineMs: NaN } }]) assert.throws(made(more), refused)
  assert.deepEqual(seen, [])
  assert.equal((await execution.submit({ ...WORK, hardCapUsd: null, spec: { long: 2n ** 64n, none: null } })).acceptance, 'accepted')
})

test('ex_cur_01_a_number_that_is_not_finite_is_no_cursor', () => {
  for (const cursor of [NaN, Infinity, -Infinity, '\ud800']) assert.deepEqual(ex.checkCursor(cursor), { valid: false, bytes: 0 })
  assert.throws(() => ex.gapId(NaN), refusal('GALLIVANT_INPUT', 'argument'))
})

test('arguments_of_the_wrong_shape_are_told_as_such', async () => {
  const refused = refusal('GALLIVANT_INPUT', 'argument')
  const functions = ['idempotencyKey', 'cancellationKey', 'runId', 'replayKey', 'backoff', 'intakeReservation', 'money']
  for (const name of functions) assert.throws(() => ex[name](name === 'money' ? {} : undefined), refused, name)
  for (const given of [null, 7, 'abc', {}]) {
    await assert.rejects(ex.runLane(given), refused)
    await assert.rejects(ex.runProgressLane(given), refused)
    assert.throws(() => new ex.HealthStore('/nowhere', { scopes: given ?? 7 }), refused)
    assert.throws(() => ex.executionRegistry().register(CAPABILITY, { secrets: given ?? 7 }), refused)
  }
  await assert.rejects(ex.runDispatchLane(new ex.HealthStore('/nowhere'), [null], { timeoutMs: 0 }), refused)
  assert.throws(() => new ex.Machine(), TypeError)
})

test('ex_bnd_46_foreign_numbers_keep_their_digits_through_raw_json', async (t) => {
  const root = directoryFor(t)
  const first = '9007199254740995'
  const { seen, transport } = memoryTransport()
  const execution = boundaryFor(t, root, {
    ...transport,
    async submit(input, call) {
      const { providerJobId, turnId } = await transport.submit(input, call)
      return new ex.RawJson(`{"providerJobId":"${providerJobId}","turnId":"${turnId}","sessionId":null,"cursor":${first}}`)
    },
    // A string is a text of JSON too.
    async inspect(input, call) {
      const observed = await transport.inspect(input, call)
      const data = { eventId: 'e1', type: 'message', sequence: 2n ** 53n + 1n, timestamp: null, data: ['pi'] }
      const text = JSON.stringify({ ...observed, sessionId: null, cursor: 0, events: [data] }, (_, value) => (
        typeof value === 'bigint' ? `big ${value}` : value
      ))
      return text.replaceAll(/"big (\d+)"/g, '$1').replace('"pi"', '3.14159265358979323846').replace('"cursor":0', '"cursor":9007199254740993')
    },
  })
  const { runId } = await execution.submit(WORK)
  const told = await execution.reconcile({ force: true })
  assert.equal(told.error, null)
  assert.ok(seen.at(-1).call.inputJson.includes(`"cursor":${first}`), seen.at(-1).call.inputJson)
  assert.ok(readFileSync(join(root, runId, 'events.jsonl'), 'utf8').includes('[3.14159265358979323846]'))
  await execution.reconcile({ force: true })
  assert.equal(seen.at(-1).input.cursor, 9_007_199_254_740_993n)
  assert.equal((await execution.inspect()).execution.cursor, 9_007_199_254_740_993n)
  const { json } = await execution.machine('inspect').start()
  assert.ok(json.includes('"cursor":9007199254740993'), json)
  assert.throws(() => new ex.RawJson(7), refusal('GALLIVANT_INPUT', 'argument'))
})

test('ex_cost_21_amounts_are_bigints_of_nano_dollars_with_every_digit', async (t) => {
  assert.equal(ex.nanoUsd(0.1), 100_000_000n)
  assert.equal(ex.nanoUsd('8999999999.999999999'), 8_999_999_999_999_999_999n)
  assert.deepEqual(ex.money('0.0000000001'), { usd: '0.000000001', nano: 1n })
  assert.equal(ex.nanoUsd('0.0000000001', 'down'), 0n)
  assert.equal(ex.nanoUsd(new ex.RawJson('1e-9')), 1n)
  for (const amount of [Number.NaN, -1, '1,5', '']) assert.throws(() => ex.nanoUsd(amount), refusal('EXECUTION_INPUT'))
  const { jobs, transport } = memoryTransport()
  const execution = boundaryFor(t, directoryFor(t), {
    ...transport,
    inspect: async (input, call) => JSON.stringify(await transport.inspect(input, call)).replace('"costUsd":null', '"costUsd":1234567.123456789'),
  }, { budgetUsd: 9_000_000 })
  const { execution: metadata } = await execution.submit(WORK)
  assert.deepEqual([metadata.costUsd, metadata.costNanoUsd], [null, null])
  assert.equal(jobs.size, 1)
  await execution.reconcile({ force: true })
  assert.equal((await execution.inspect()).costNanoUsd, 1_234_567_123_456_789n)
})

test('ex_cap_01_ex_cap_25_the_registry_is_the_one_place_of_records', async (t) => {
  const registry = ex.executionRegistry()
  assert.ok(registry.capabilities().some(({ provider, newDispatch }) => provider === 'claude' && newDispatch.available === false))
  assert.throws(() => registry.capabilitiesFor('memory'), refusal('EXECUTION_CAPABILITY', 'unavailable'))
  assert.throws(() => registry.register(CAPABILITY), refusal('EXECUTION_CAPABILITY', 'unavailable'))
  const { transport } = memoryTransport()
  assert.throws(() => registry.register(CAPABILITY, { transport, secrets: ['text-only'] }), refusal('EXECUTION_CAPABILITY', 'secret'))
  const registered = registry.register(CAPABILITY, { transport })
  assert.equal(registered.record.provider, 'memory')
  assert.equal(registry.transportOf('memory'), transport)
  assert.throws(() => registry.register(CAPABILITY, { transport }), refusal('EXECUTION_CAPABILITY'))
  const runner = { render: true, minimumVersion: '1.0' }
  assert.equal(registry.attach('claude', { runner }).record.newDispatch.available, true)
  assert.throws(() => registry.attach('codex', {}), refusal('GALLIVANT_INPUT', 'argument'))
  assert.throws(() => registry.attach('codex', { runner, transport }), refusal('GALLIVANT_INPUT', 'argument'))
  const root = directoryFor(t)
  const execution = boundaryFor(t, root, transport, { capabilities: registered })
  assert.equal((await execution.submit(WORK)).acceptance, 'accepted')
  const other = ex.executionRegistry()
  const options = optionsFor(root, transport, { capabilities: registered, registry: other })
  assert.throws(() => ex.makeExecution(options), refusal('EXECUTION_DEPENDENCY'))
  assert.match(inspect(registry), /memory/)
  assert.throws(() => new ex.ExecutionRegistry(), TypeError)
})

test('ex_bnd_19_a_root_that_exists_has_the_boundary_of_its_own_files', async (t) => {
  const root = directoryFor(t)
  const { seen, transport } = memoryTransport()
  await boundaryFor(t, root, transport).submit(WORK)
  const registry = ex.executionRegistry()
  registry.register(CAPABILITY, { transport })
  const unused = { submit() {}, inspect() {}, collect() {} }
  const { root: _, ...options } = optionsFor(root, unused, { provider: 'other', account: 'you', registry, capabilities: { ...CAPABILITY, provider: 'other' } })
  const execution = await ex.executionRunner(root, options)
  t.after(() => execution.close())
  assert.deepEqual((await execution.reconcile({ force: true })).called, ['inspect'])
  assert.deepEqual([seen.at(-1).name, seen.at(-1).input.account], ['inspect', 'me'])
  await assert.rejects(ex.executionRunner(root, { ...options, registry: ex.executionRegistry() }), refusal('EXECUTION_CAPABILITY', 'unavailable'))
  await assert.rejects(ex.executionRunner(root, { ...options, registry: undefined }), refusal('GALLIVANT_INPUT', 'argument'))
})

test('ex_sea_15_ex_cap_26_the_pure_functions_are_the_core_s', () => {
  assert.deepEqual(ex.checkCursor('\ud800'), { valid: false, bytes: 0 })
  assert.deepEqual(ex.checkCursor(new ex.RawJson('1.50')), { valid: true, bytes: 3 })
  assert.equal(ex.gapId(0).length > 0, true)
  assert.match(ex.replayKey({ provider: 'p', providerJobId: 'j', turnId: 't', eventId: 'e' }), /^[0-9a-f]{64}$/)
  assert.equal(ex.backoff({ failures: 1, jitter: 1 }), 10_000)
  assert.equal(ex.backoff({ failures: 9, jitter: 1, limits: { backoffMaxMs: 20_000 } }), 20_000)
  assert.equal(ex.backoff({ failures: 1, jitter: 0, retryAfterMs: 7000 }), 7000)
  assert.deepEqual(ex.intakeReservation({ budgetUsd: 8, remaining: '0.2' }), { usd: '0.2', nano: 200_000_000n })
  assert.throws(() => ex.intakeReservation({ budgetUsd: 8, remaining: 0 }), refusal('EXECUTION_ALLOWANCE'))
  assert.equal(ex.crc32c('123456789'), 'e3069283')
  assert.deepEqual([ex.executionLive({ endedAt: 5 }), ex.executionLive({})], [false, true])
  const entry = { startOperationId: 'op-1', sessionId: null, initial_dispatch: { version: 1, operationId: 'op-1', status: 'unsubmitted' } }
  assert.equal(ex.unsubmittedInitialDispatch(entry, null), true)
  const record = { version: 1, provider: 'p', account: 'a', ok: true, checkedAt: 1, nextAttemptAt: 9, failures: 0 }
  assert.deepEqual([ex.healthAuthorize(record, 8), ex.healthAuthorize(record, 9), ex.healthAuthorize(null, 1)], [true, false, false])
  const tree = { input: [], head: [], index: [] }
  const file = { path: './a', beforeHash: null, afterHash: '1b16b1df538ba12dc3f97edbb85caa7050d46c148134290feba80f8236c83db9', text: 'n' }
  assert.deepEqual(ex.validateManifest([file], tree), { files: [{ ...file, path: 'a' }] })
  assert.throws(() => ex.validateManifest([file, file], tree), refusal('EXECUTION_RESULT', 'result-validation'))
  assert.throws(() => ex.validateManifest([{ ...file, path: '\ud800' }], tree), refusal('EXECUTION_RESULT', 'result-validation'))
  assert.throws(() => ex.validateManifest([file], { ...tree, head: null }), refusal('EXECUTION_IO', 'tree'))
  ex.publicTextCheck('a title')
  assert.throws(() => ex.publicTextCheck('a\0title'), refusal('EXECUTION_RESULT', 'result-validation'))
  ex.assertExecutionDependency({ contractVersion: ex.EXECUTION_VERSION, intake: {} })
  assert.throws(() => ex.assertExecutionDependency({ contractVersion: 1 }), refusal('EXECUTION_DEPENDENCY'))
  assert.throws(() => ex.assertExecutionDependency({ contractVersion: 2, intake: {} }), refusal('EXECUTION_DEPENDENCY'))
})

test('ex_red_15_an_error_quotes_no_secret', async (t) => {
  const root = directoryFor(t)
  const { transport } = memoryTransport()
  const submit = async () => { throw new ex.TransportError('io', 'refused for hunter2-hunter2') }
  const execution = boundaryFor(t, root, { ...transport, submit }, { secrets: ['hunter2-hunter2'] })
  const error = await execution.submit(WORK).catch((error) => error)
  assert.ok(!inspect(error).includes('hunter2'))
  assert.ok(!readFileSync(join(root, 'execution.json'), 'utf8').includes('hunter2'))
})

test('ex_sea_02_the_jitter_of_a_test_host_is_the_same_every_time', async (t) => {
  const machine = new TestHost({ wallMs: 1_780_000_000_000, jitter: 0 })
  const { transport } = memoryTransport(() => 1_780_000_000_000)
  const inspectLost = async () => { throw new ex.TransportError('rate', 'later', { retryAfterMs: 1 }) }
  const execution = boundaryFor(t, directoryFor(t), { ...transport, inspect: inspectLost }, { host: machine.host })
  await execution.submit(WORK)
  const report = await execution.reconcile({ force: true })
  assert.deepEqual([report.error.code, report.error.reason], ['EXECUTION_IO', 'rate'])
  assert.equal(report.nextAttemptAt, 1_780_000_000_000 + 5000)
  assert.throws(() => new TestHost({ jitter: 'x' }), refusal('GALLIVANT_INPUT', 'argument'))
  assert.throws(() => new TestHost({ points: [{ point: 'x', action: 'stop' }] }), refusal('GALLIVANT_INPUT'))
})

test('ex_bnd_07_a_root_of_another_task_is_left_alone', async (t) => {
  const root = directoryFor(t)
  await boundaryFor(t, root, memoryTransport().transport).submit(WORK)
  const before = readFileSync(join(root, 'execution.json'))
  const other = boundaryFor(t, root, memoryTransport().transport, { taskId: 'other' })
  await assert.rejects(other.submit(WORK), refusal('EXECUTION_OWNERSHIP'))
  assert.deepEqual(readFileSync(join(root, 'execution.json')), before)
  writeFileSync(join(root, 'execution.json'), '{"version":9}')
  await assert.rejects(ex.unresolved(root), refusal('EXECUTION_VERSION', 'ledger'))
})
