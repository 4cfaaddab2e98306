/** Readers, snapshots and probes. */

import assert from 'node:assert/strict'
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Reader, Session, identifyProcess } from '../lib/index.js'
import { TestHost } from '../lib/testing.js'
import { claimedSeat, directoryFor, startScript } from '../test-support/seat.mjs'

const UNKNOWN = { state: 'unknown', blockedOn: 'unknown', inputBuffer: 'unknown', ask: 'unknown', sinceMs: null, exit: null }

/** A record of which every number is given, in the form in which it stands on disk. */
function recordLine({ seq = 1n, sinceMs = 1n, writtenAtMs = 1n, transitions = 0n, extra = '' } = {}) {
  return '{"schema":"st2.harness-state.v1","agent":"a","harness":"codex","state":"idle","blockedOn":"none",' +
    `"inputBuffer":"empty","ask":"none","ptySession":"p","incarnation":"tok","seq":${seq},"sinceMs":${sinceMs},` +
    `"writtenAtMs":${writtenAtMs},"transitions":${transitions}${extra}}\n`
}

test('hs_70_nothing_was_ever_observed_is_null_and_creates_nothing', async (t) => {
  const directory = directoryFor(t)
  const reader = new Reader(directory)
  assert.equal(await reader.read(), null)
  assert.equal(reader.readSync({ probe: 'dead' }), null)
  assert.equal(await reader.read({ probe: () => assert.fail('nobody is asked') }), null)
  assert.equal(reader.snapshotSync().derive(), null)
  assert.equal(new Reader(join(directory, 'missing')).readSync(), null)
  assert.deepEqual(readdirSync(directory), [])
})

test('hs_84_the_recorded_tuple_by_directory_by_record_and_by_url', async (t) => {
  const machine = new TestHost({ wallMs: 1_800_000_000_000n })
  const options = { host: machine.host }
  const { directory, writer } = claimedSeat(t, options)
  writer.observeSync({ state: 'active', blockedOn: 'human', ask: 'question', inputBuffer: 'empty', reason: 'why' })
  const expected = {
    state: 'active', blockedOn: 'human', inputBuffer: 'empty', ask: 'question', harness: 'claude',
    sinceMs: 1_800_000_000_001n, observedAtMs: 1_800_000_000_001n, ownershipSequence: 1n, transitionSequence: 1n,
    evidenceIncarnation: 'tok-a', exit: null, reason: 'why', validUntilMs: 1_800_000_900_000n,
  }
  for (const path of [directory, join(directory, 'harness-state'), pathToFileURL(directory)]) {
    const reader = new Reader(path, options)
    assert.deepEqual(await reader.read(), expected)
    assert.deepEqual(reader.readSync(), expected)
  }
})

/** Without the instant until which it holds: a reader that has to wait between two of its clocks is that much later. */
const untimed = ({ validUntilMs, ...told }) => {
  assert.equal(typeof validUntilMs, 'bigint')
  return told
}

test('hs_69_reading_again_answers_what_stands_now_in_an_object_of_the_callers_own', async (t) => {
  const { directory, writer } = claimedSeat(t)
  const reader = new Reader(directory)
  assert.equal(reader.readSync().reason, 'claimed')
  for (const state of ['active', 'idle', 'active']) {
    writer.observeSync({ state })
    const [first, second] = [reader.readSync(), reader.readSync()]
    assert.equal(first.state, state)
    assert.deepEqual(untimed(second), untimed(first))
    assert.deepEqual(untimed(second), untimed(await reader.read()))
    assert.deepEqual(Object.keys(second), Object.keys(await reader.read()), 'the members in the same order')
    first.state = 'changed by its owner'
    assert.equal(second.state, state)
    assert.equal(reader.readSync().state, state)
  }
  rmSync(join(directory, 'harness-state'))
  assert.deepEqual([reader.readSync(), reader.readSync()], [null, null])
  writeFileSync(join(directory, 'harness-state'), '{')
  assert.deepEqual([reader.readSync().reason, reader.readSync().reason], ['malformed-record', 'malformed-record'])
  assert.equal(new Reader(join(directory, 'missing')).readSync(), null)
})

test('hs_17_numbers_beyond_2_53_are_exact', async (t) => {
  const directory = directoryFor(t)
  const [a, b] = [2n ** 53n + 1n, 2n ** 64n - 1n]
  const machine = new TestHost({ wallMs: a })
  writeFileSync(join(directory, 'harness-state'), recordLine({ seq: b, sinceMs: a, writtenAtMs: a, transitions: b }))
  const reader = new Reader(directory, { host: machine.host, staleMs: 2n ** 63n })
  const wanted = {
    sinceMs: a, observedAtMs: a, ownershipSequence: b, transitionSequence: b, validUntilMs: a + 2n ** 63n,
  }
  for (const state of [await reader.read(), reader.readSync()]) {
    assert.equal(state.state, 'idle')
    for (const [name, value] of Object.entries(wanted)) assert.equal(state[name], value, name)
  }
  const { record } = await reader.snapshot()
  assert.deepEqual([record.seq, record.sinceMs, record.writtenAtMs, record.transitions], [b, a, a, b])
})

test('hs_71_and_72_what_cannot_be_read_is_unknown_and_no_error', async (t) => {
  const directory = directoryFor(t)
  writeFileSync(join(directory, 'harness-state'), '')
  const reader = new Reader(directory)
  for (const state of [await reader.read(), reader.readSync()]) {
    assert.deepEqual(state, {
      ...UNKNOWN, harness: null, observedAtMs: null, ownershipSequence: null, transitionSequence: null,
      evidenceIncarnation: null, reason: 'malformed-record', validUntilMs: null,
    })
  }
  const snapshot = reader.snapshotSync()
  assert.equal(snapshot.record, null)
  assert.match(snapshot.damage, /./)
  const below = new Reader(join(directory, 'harness-state', 'below', 'it'))
  assert.equal((await below.read()).reason, 'unreadable-record')
})

test('the_record_is_shown_as_it_is_spelled', async (t) => {
  const directory = directoryFor(t)
  writeFileSync(join(directory, 'harness-state'),
    recordLine({ writtenAtMs: 5n }).replace('"idle"', '"dreaming"').replace('"incarnation":"tok",', ''))
  const snapshot = new Reader(directory).snapshotSync()
  assert.deepEqual({ ...snapshot.record }, {
    schema: 'st2.harness-state.v1', agent: 'a', harness: 'codex', state: 'dreaming', blockedOn: 'none',
    inputBuffer: 'empty', ask: 'none', reason: null, exit: null, ptySession: 'p', incarnation: '', seq: 1n,
    sinceMs: 1n, writtenAtMs: 5n, transitions: 0n, extension: null,
  })
  assert.equal(snapshot.damage, null)
  assert.equal(snapshot.derive({ nowMs: 10 }).reason, 'literal-unknown')
})

test('a_snapshot_is_derived_again_at_another_time_and_with_another_answer', async (t) => {
  const machine = new TestHost({ wallMs: 1_000_000n })
  const { directory, writer } = claimedSeat(t, { host: machine.host })
  await writer.observe({ state: 'active' })
  const snapshot = await new Reader(directory, { host: machine.host }).snapshot()
  writeFileSync(join(directory, 'harness-state'), 'something else by now\n')
  assert.equal(snapshot.takenAtMs, 1_000_000n)
  assert.equal(snapshot.derive().state, 'active')
  assert.equal(snapshot.derive({ probe: 'dead' }).reason, 'session-dead')
  assert.equal(snapshot.derive({ probe: 'indeterminate' }).state, 'active')
  assert.equal(snapshot.wantsProbe(), true)
  const { validUntilMs } = snapshot.derive()
  assert.equal(snapshot.derive({ nowMs: validUntilMs - 1n }).state, 'active')
  assert.equal(snapshot.derive({ nowMs: validUntilMs }).reason, 'stale')
  assert.equal(snapshot.wantsProbe(validUntilMs), false)
  assert.throws(() => snapshot.derive({ probe: 'lively' }), { code: 'HARNESS_STATE_INPUT', reason: 'probe' })
  assert.throws(() => snapshot.derive({ nowMs: -1 }), { code: 'GALLIVANT_INPUT' })
})

test('what_is_no_probe_is_refused_with_the_words_that_are', async (t) => {
  const { directory } = claimedSeat(t)
  const reader = new Reader(directory)
  const wrong = (given) => ({
    code: 'HARNESS_STATE_INPUT',
    reason: 'probe',
    message: `a probe is lease, alive, dead or indeterminate, a process identity, or a function, given=\`${given}\``,
  })
  for (const [probe, given] of [['leash', 'leash'], ['two\nlines', 'two lines'], [5, 'number'], [true, 'boolean']]) {
    await assert.rejects(reader.read({ probe }), wrong(given))
    assert.throws(() => reader.readSync({ probe }), wrong(given))
  }
})

test('hs_81_a_function_s_answer_counts_only_where_it_is_one', async (t) => {
  const { directory, writer } = claimedSeat(t)
  await writer.observe({ state: 'active' })
  const reader = new Reader(directory, { probeBudgetMs: 10_000 })
  for (const answer of ['dead', false]) {
    assert.equal((await reader.read({ probe: () => answer })).reason, 'session-dead')
    assert.equal((await reader.read({ probe: async () => answer })).reason, 'session-dead')
    assert.equal(reader.readSync({ probe: () => answer }).reason, 'session-dead')
  }
  for (const answer of ['alive', true, 'indeterminate', null, undefined, 'Dead', 0, {}]) {
    assert.equal((await reader.read({ probe: () => answer })).state, 'active')
    assert.equal((await reader.read({ probe: async () => answer })).state, 'active')
    assert.equal(reader.readSync({ probe: () => answer }).state, 'active')
  }
})

test('hs_81_a_probe_that_throws_rejects_or_takes_too_long_is_indeterminate', async (t) => {
  const { directory, writer } = claimedSeat(t)
  await writer.observe({ state: 'active' })
  const reader = new Reader(directory, { probeBudgetMs: 200 })
  const patient = new Reader(directory, { probeBudgetMs: 60_000 })
  const failing = () => { throw new Error('of the probe') }
  const busy = (ms) => () => {
    const until = performance.now() + ms
    while (performance.now() < until);
    return 'dead'
  }
  assert.equal(reader.readSync({ probe: failing }).state, 'active')
  assert.equal((await reader.read({ probe: failing })).state, 'active')
  assert.equal((await reader.read({ probe: async () => failing() })).state, 'active')
  assert.equal(reader.readSync({ probe: busy(250) }).state, 'active')
  assert.equal(patient.readSync({ probe: busy(1) }).reason, 'session-dead')
  assert.equal((await reader.read({ probe: busy(250) })).state, 'active')
  const started = performance.now()
  assert.equal((await reader.read({ probe: () => new Promise(() => {}) })).state, 'active')
  assert.ok(performance.now() - started < 5000, 'it stops listening when the budget is used up')
  // Rejections of promises that nobody waits for any more end no process.
  assert.equal(reader.readSync({ probe: async () => failing() }).state, 'active')
  const late = () => new Promise((_, reject) => setTimeout(reject, 250, new Error('late')))
  assert.equal((await reader.read({ probe: late })).state, 'active')
  await new Promise((resolve) => setTimeout(resolve, 150))
})

/** Answers that are no answer, each made anew: things that throw when they are looked at, and promises that are none. */
const ODD_ANSWERS = {
  'a then that throws when it is got': () => ({ get then() { throw new Error('got') } }),
  'a then that throws when it is called': () => ({ then() { throw new Error('called') } }),
  'a then that throws what is no error': () => ({ then() { throw undefined } }),
  'a then that never settles': () => ({ then() {} }),
  'a then that settles with itself': () => ({ then(resolve) { resolve(this) } }),
  'a then that rejects and then says dead': () => ({ then(resolve, reject) { reject(new Error('first')); resolve('dead') } }),
  'a then that says dead twice': () => ({ then(resolve) { resolve('dead'); resolve('dead') } }),
  'a then that says dead and alive': () => ({ then(resolve) { resolve('dead'); resolve('alive') } }),
  'a then that says dead and rejects': () => ({ then(resolve, reject) { resolve('dead'); reject(new Error('second')) } }),
  'a then that says dead and throws': () => ({ then(resolve) { resolve('dead'); throw new Error('last') } }),
  'a then that answers and rejects later': () => ({
    then(resolve, reject) { resolve('alive'); setTimeout(reject, 1, new Error('later')) },
  }),
  'a promise whose constructor throws when it is got': () => (
    Object.defineProperty(Promise.resolve('dead'), 'constructor', { get() { throw new Error('constructor') } })
  ),
  'a proxy of a promise': () => new Proxy(Promise.resolve('dead'), {}),
  'a proxy that refuses everything': () => new Proxy({}, new Proxy({}, { get() { throw new Error('trap') } })),
  'a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  },
  'a function with a then': () => Object.assign(() => {}, { then(resolve) { resolve('dead') } }),
}

test('hs_81_an_odd_answer_is_indeterminate_within_the_budget_and_never_an_uncaught_rejection', async (t) => {
  const uncaught = []
  const note = (error) => uncaught.push(error)
  process.on('unhandledRejection', note)
  t.after(() => process.off('unhandledRejection', note))
  const { directory, writer } = claimedSeat(t)
  await writer.observe({ state: 'active' })
  const reader = new Reader(directory, { probeBudgetMs: 200 })
  for (const [name, odd] of Object.entries(ODD_ANSWERS)) {
    const started = performance.now()
    assert.equal((await reader.read({ probe: odd })).state, 'active', name)
    assert.equal(reader.readSync({ probe: odd }).state, 'active', name)
    assert.ok(performance.now() - started < 10_000, `${name} took longer than its budget`)
  }
  const foreign = () => ({ then(resolve) { setTimeout(resolve, 1, 'dead') } })
  assert.equal((await new Reader(directory, { probeBudgetMs: 60_000 }).read({ probe: foreign })).reason, 'session-dead', 'a promise need not be of Node')
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.deepEqual(uncaught, [])
})

test('hs_79_a_probe_is_asked_only_where_it_decides_and_sees_the_record', async (t) => {
  const { directory, writer } = claimedSeat(t)
  const reader = new Reader(directory)
  const never = () => assert.fail('nobody is asked')
  assert.equal((await reader.read({ probe: never })).reason, 'claimed')
  await writer.observe({ state: 'active' })
  const asked = []
  await reader.read({ probe: (record) => { asked.push(record); return 'alive' } })
  assert.equal(asked.length, 1)
  assert.equal(asked[0].incarnation, 'tok-a')
  assert.ok(Object.isFrozen(asked[0]))
  await writer.ended('exit 0')
  assert.equal((await reader.read({ probe: never })).state, 'ended')
  writeFileSync(join(directory, 'harness-state'),
    recordLine({ writtenAtMs: BigInt(Date.now()) }).replace('"ptySession":"p",', ''))
  assert.equal((await reader.read({ probe: never })).reason, 'unfenced-record')
  assert.equal(reader.readSync({ probe: never }).reason, 'unfenced-record')
  assert.equal(reader.readSync().state, 'idle')
})

test('hs_94_the_lease_probe_tells_a_live_session_from_a_dead_one', async (t) => {
  const directory = directoryFor(t)
  const reader = new Reader(directory)
  const { child, exit } = await startScript(t, 'live_session.mjs', [directory])
  assert.equal((await reader.read({ probe: 'lease' })).state, 'active')
  assert.equal(reader.readSync({ probe: 'lease' }).state, 'active')
  child.kill('SIGKILL')
  await exit
  assert.equal((await reader.read({ probe: 'lease' })).reason, 'session-dead')
  assert.equal(reader.readSync({ probe: 'lease' }).reason, 'session-dead')
  assert.equal(reader.readSync().state, 'active', 'without a probe the record stands')
})

test('hs_94_a_process_identity_is_a_probe', async (t) => {
  const { directory, writer } = claimedSeat(t)
  await writer.observe({ state: 'active' })
  const reader = new Reader(directory)
  const own = identifyProcess(process.pid)
  assert.equal(typeof own.start, 'bigint')
  assert.equal((await reader.read({ probe: own })).state, 'active')
  assert.equal((await reader.read({ probe: { ...own, start: own.start + 1n } })).reason, 'session-dead')
  assert.equal(reader.readSync({ probe: { ...own, host: 'another' } }).state, 'active')
  assert.equal(identifyProcess(0), null)
  await assert.rejects(reader.read({ probe: { pid: 1 } }), { code: 'GALLIVANT_INPUT', message: /probe\.start/ })
})

test('hs_12_reading_skips_unknown_members_of_any_size', async (t) => {
  const directory = directoryFor(t)
  const extra = `,"later":{"deep":[1e999,"${'x'.repeat(100_000)}"]}`
  writeFileSync(join(directory, 'harness-state'), recordLine({ writtenAtMs: BigInt(Date.now()), extra }))
  assert.equal((await new Reader(directory).read()).state, 'idle')
})

test('wrong_options_are_refused', async (t) => {
  const reader = new Reader(directoryFor(t))
  const wrong = { code: 'GALLIVANT_INPUT' }
  assert.throws(() => reader.readSync({ prob: 'lease' }), { ...wrong, reason: 'unknown-member' })
  assert.throws(() => new Reader(undefined), wrong)
  assert.throws(() => new Reader(''), { code: 'HARNESS_STATE_INPUT', kind: 'input', reason: 'path' })
  assert.throws(() => new Reader('x', { host: {} }), { ...wrong, message: /host/ })
})

test('reading_leaves_the_bytes_alone', async (t) => {
  const session = Session.startSync(directoryFor(t), { agent: 'a', harness: 'claude', ptySession: 'p' })
  await session.writer.observe({ state: 'active' })
  const path = join(session.writer.directory, 'harness-state')
  const before = readFileSync(path)
  await Promise.all(Array.from({ length: 50 }, () => new Reader(path).read({ probe: 'lease' })))
  assert.deepEqual(readFileSync(path), before)
  session.close()
})
