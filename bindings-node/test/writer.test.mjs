/** Writers, synchronous and asynchronous. */

import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Reader, Writer, claimSync, mintToken } from '../lib/index.js'
import { TestHost } from '../lib/testing.js'
import { claimedOn, claimedSeat, directoryFor } from '../test-support/seat.mjs'

const LANDED = { outcome: 'landed', refusal: null, floorFailure: null }
const COALESCED = { ...LANDED, outcome: 'coalesced' }
const refused = (refusal) => ({ ...LANDED, outcome: 'refused', refusal })

const recordIn = (directory) => JSON.parse(readFileSync(join(directory, 'harness-state'), 'utf8'))

test('hs_48_each_call_answers_a_typed_outcome', async (t) => {
  const { directory, writer } = claimedSeat(t)
  assert.deepEqual(await writer.observe({ state: 'active' }), LANDED)
  assert.deepEqual(await writer.observe({ state: 'active' }), COALESCED)
  assert.deepEqual(writer.observeSync({ state: 'active' }), COALESCED)
  assert.deepEqual(writer.observeSync({ state: 'idle', reason: '' }), LANDED)
  claimedOn(directory, undefined, 'tok-b')
  assert.deepEqual(await writer.observe({ state: 'idle' }), refused('superseded'))
  assert.deepEqual(writer.observeSync({ state: 'idle' }), refused('superseded'))
})

test('hs_50_a_landed_observation_says_who_saw_what', async (t) => {
  const { directory, writer } = claimedSeat(t, { extension: false })
  const seen = {
    state: 'active', blockedOn: 'human', inputBuffer: 'nonempty', ask: 'review', reason: 'a plan: é𝄞', exit: null,
  }
  await writer.observe(seen)
  const { schema, sinceMs, writtenAtMs, ...record } = recordIn(directory)
  assert.deepEqual(record, {
    agent: 'host.worker', harness: 'claude', state: 'active', blockedOn: 'human', inputBuffer: 'nonempty',
    ask: 'review', reason: 'a plan: é𝄞', ptySession: 'worker', incarnation: 'tok-a', seq: 1, transitions: 1,
  })
  assert.equal(schema, 'st2.harness-state.v1')
  assert.equal(statSync(join(directory, 'harness-state')).mode & 0o777, 0o600)
})

test('hs_31_left_out_fields_are_blocked_on_nobody_and_unknown_input', async (t) => {
  const { directory, writer } = claimedSeat(t)
  writer.observeSync({ state: 'ready', blockedOn: undefined, ask: null })
  const { blockedOn, inputBuffer, ask, reason, exit } = recordIn(directory)
  assert.deepEqual({ blockedOn, inputBuffer, ask, reason, exit },
    { blockedOn: 'none', inputBuffer: 'unknown', ask: 'none', reason: undefined, exit: undefined })
})

test('hs_32_validation_comes_before_any_side_effect', async (t) => {
  const directory = join(directoryFor(t), 'not-yet')
  const unfenced = new Writer(directory, { agent: 'a', harness: 'codex', token: 'tok' })
  const fenced = new Writer(directory, { agent: 'a', harness: 'codex', token: 'tok', ptySession: '' })
  for (const [writer, seen, code] of [
    [fenced, { state: 'unknown' }, 'HARNESS_STATE_UNKNOWN_STATE'],
    [fenced, { state: 'Active' }, 'HARNESS_STATE_INPUT'],
    [fenced, { state: 'active', blockedOn: 'humen' }, 'HARNESS_STATE_INPUT'],
    [unfenced, { state: 'active', ask: 'unknown' }, 'HARNESS_STATE_UNFENCED'],
    [fenced, { state: 'active', ask: 'unknown' }, 'HARNESS_STATE_UNKNOWN_ASK'],
    [fenced, { state: 'active', ask: 'review' }, 'HARNESS_STATE_ASK_WITHOUT_HUMAN'],
    [unfenced, { state: 'ended', reason: 'superseded' }, 'HARNESS_STATE_RESERVED_REASON'],
  ]) {
    await assert.rejects(writer.observe(seen), { code, kind: 'input' })
    assert.throws(() => writer.observeSync(seen), { code })
    await assert.rejects(writer.observeUnlessEnded(seen), { code })
    assert.throws(() => writer.observeUnlessEndedSync(seen), { code })
  }
  assert.throws(() => statSync(directory), { code: 'ENOENT' })
})

test('hs_42_unless_ended_leaves_the_own_ending_alone', async (t) => {
  const { writer } = claimedSeat(t)
  assert.deepEqual(await writer.observeUnlessEnded({ state: 'active' }), LANDED)
  assert.deepEqual(await writer.ended('exit 0'), LANDED)
  assert.deepEqual(await writer.observeUnlessEnded({ state: 'active' }), refused('terminal'))
  assert.deepEqual(writer.observeUnlessEndedSync({ state: 'active' }), refused('terminal'))
  assert.deepEqual(await writer.observe({ state: 'active' }), LANDED)
  assert.deepEqual(writer.observeUnlessEndedSync({ state: 'idle' }), LANDED)
})

test('hs_54_a_repeated_ending_coalesces_and_another_exit_replaces', async (t) => {
  const { directory, writer } = claimedSeat(t)
  assert.deepEqual(writer.endedSync('exit 1'), LANDED)
  assert.deepEqual(await writer.ended('exit 1'), COALESCED)
  assert.deepEqual(await writer.ended('signal 9'), LANDED)
  assert.equal(recordIn(directory).exit, 'signal 9')
  assert.deepEqual(await writer.ended(), LANDED)
  assert.deepEqual(writer.endedSync(null), COALESCED)
  assert.equal(recordIn(directory).exit, undefined)
})

test('hs_45_an_interrupt_takes_its_place_among_the_calls_that_were_begun', async (t) => {
  const { directory, writer } = claimedSeat(t)
  const first = writer.observe({ state: 'active' })
  writer.interrupt()
  const second = writer.observe({ state: 'active' })
  const third = writer.observe({ state: 'active' })
  assert.deepEqual(await Promise.all([first, second, third]), [LANDED, LANDED, COALESCED])
  assert.equal(recordIn(directory).transitions, 2)
  writer.interrupt()
  assert.deepEqual(writer.observeSync({ state: 'active' }), LANDED)
})

test('calls_of_one_writer_are_made_in_the_order_in_which_they_were_begun', async (t) => {
  const { directory, writer } = claimedSeat(t)
  const reasons = Array.from({ length: 60 }, (_, index) => `step ${index}`)
  const reports = await Promise.all(reasons.map((reason) => writer.observe({ state: 'active', reason })))
  assert.ok(reports.every((report) => report.outcome === 'landed'))
  const { reason, transitions } = recordIn(directory)
  assert.deepEqual({ reason, transitions }, { reason: 'step 59', transitions: 60 })
})

test('hs_37_a_token_only_writer_resolves_its_sequence', async (t) => {
  const directory = directoryFor(t)
  const writer = new Writer(directory, { agent: 'a', harness: 'codex', token: mintToken(), ptySession: 'p' })
  assert.equal(writer.sequence, null)
  assert.deepEqual(await writer.observe({ state: 'idle' }), LANDED)
  assert.equal(writer.sequence, 1n)
  const other = new Writer(directory, { agent: 'a', harness: 'codex', token: 'tok-other', ptySession: 'p' })
  assert.deepEqual(await other.observe({ state: 'idle' }), refused('unclaimed'))
  assert.equal(other.sequence, null)
  assert.equal(other.directory, directory)
  assert.deepEqual(other.identity, { agent: 'a', harness: 'codex', token: 'tok-other', ptySession: 'p' })
})

test('hs_17_adopted_sequences_keep_all_64_bits', async (t) => {
  for (const sequence of [2n ** 53n + 1n, 2n ** 64n - 1n]) {
    const directory = directoryFor(t)
    const identity = { agent: 'a', harness: 'codex', token: 'tok', ptySession: 'p', sequence }
    const writer = new Writer(directory, identity)
    assert.deepEqual(await writer.observe({ state: 'idle' }), LANDED)
    assert.equal(writer.sequence, sequence)
    assert.match(readFileSync(join(directory, 'harness-state'), 'utf8'), new RegExp(`"seq":${sequence},`))
    assert.equal((await new Reader(directory).read()).ownershipSequence, sequence)
    assert.equal(writer.withCurrentOwnershipSync((guard) => guard.sequence).value, sequence)
  }
  const wrong = { code: 'GALLIVANT_INPUT', message: /sequence/ }
  for (const sequence of [2n ** 64n, -1n, 2 ** 53, 1.5, '1']) {
    assert.throws(() => new Writer('x', { agent: 'a', harness: 'c', token: 't', sequence }), wrong)
  }
})

test('hs_51_a_heartbeat_renews_the_own_live_record_or_says_why_not', async (t) => {
  const machine = new TestHost({ wallMs: 1_000_000n })
  const { directory, writer } = claimedSeat(t, { host: machine.host })
  const skipped = (skip) => ({ outcome: 'skipped', skip, floorFailure: null })
  assert.deepEqual(await writer.heartbeat(), skipped('ended'))
  await writer.observe({ state: 'active' })
  const before = recordIn(directory)
  machine.advanceMs(5000)
  assert.deepEqual(await writer.heartbeat(), { outcome: 'landed', skip: null, floorFailure: null })
  const { bootMs, awakeMs } = before.gallivant
  const gallivant = { ...before.gallivant, bootMs: bootMs + 5000, awakeMs: awakeMs + 5000 }
  assert.deepEqual(recordIn(directory), { ...before, writtenAtMs: before.writtenAtMs + 4999, gallivant })
  assert.deepEqual(writer.heartbeatSync(), { outcome: 'landed', skip: null, floorFailure: null })
  const nobody = new Writer(join(directory, 'missing'), { agent: 'a', harness: 'codex', token: 't' })
  assert.deepEqual(nobody.heartbeatSync(), skipped('absent'))
})

test('hs_36_an_unreadable_record_refuses_and_a_schema_of_others_too', async (t) => {
  const { directory, writer } = claimedSeat(t)
  writeFileSync(join(directory, 'harness-state'), 'no record\n')
  assert.deepEqual(await writer.observe({ state: 'idle' }), refused('unreadable'))
  const directory2 = directoryFor(t)
  const theirs = { schema: 'st.harness-state.v1' }
  claimSync(directory2, { agent: 'a', harness: 'c', token: 'tok' }, theirs)
  const identity = { agent: 'a', harness: 'c', token: 'tok', ptySession: 'p', sequence: 1 }
  assert.deepEqual(await new Writer(directory2, identity).observe({ state: 'idle' }), refused('schema'))
  const accepting = new Writer(directory2, identity, { alsoAcceptedSchemas: [theirs.schema] })
  assert.deepEqual(await accepting.observe({ state: 'idle' }), LANDED)
  assert.equal(recordIn(directory2).schema, theirs.schema, 'an adopted session keeps its spelling')
})

test('hs_68_an_action_runs_under_the_lock_while_the_session_owns_the_seat', async (t) => {
  const { directory, writer } = claimedSeat(t)
  const impatient = claimedOn(directory, { lockWaitMs: 0 }).writer
  assert.deepEqual(await writer.withCurrentOwnership(() => assert.fail('it is superseded')),
    { owned: false, value: undefined })
  assert.deepEqual(writer.withCurrentOwnershipSync(() => assert.fail('it is superseded')),
    { owned: false, value: undefined })
  const answer = await impatient.withCurrentOwnership(async (guard) => {
    assert.throws(() => claimSync(directory, { agent: 'a', harness: 'c', token: 't' }, { lockWaitMs: 0 }),
      { code: 'HARNESS_STATE_BUSY' })
    return guard.sequence
  })
  assert.deepEqual(answer, { owned: true, value: 2n })
  assert.deepEqual(impatient.withCurrentOwnershipSync((guard) => guard.sequence), { owned: true, value: 2n })
})

test('hs_68_the_lock_is_released_when_the_action_throws_or_rejects', async (t) => {
  const { writer } = claimedSeat(t, { lockWaitMs: 0 })
  const failure = new Error('of the action')
  await assert.rejects(writer.withCurrentOwnership(async () => { throw failure }), failure)
  await assert.rejects(writer.withCurrentOwnership(() => { throw failure }), failure)
  assert.throws(() => writer.withCurrentOwnershipSync(() => { throw failure }), failure)
  assert.deepEqual(writer.observeSync({ state: 'idle' }), LANDED)
})

test('a_guard_is_released_once_and_by_disposal', async (t) => {
  const { writer } = claimedSeat(t, { lockWaitMs: 0 })
  const guard = await writer.lockCurrentOwnership()
  assert.equal(guard.sequence, 1n)
  await assert.rejects(writer.observe({ state: 'idle' }), { code: 'HARNESS_STATE_BUSY', kind: 'busy' })
  guard.release()
  guard.release()
  assert.throws(() => guard.sequence, { code: 'GALLIVANT_INPUT', reason: 'closed' })
  if (Symbol.dispose !== undefined) writer.lockCurrentOwnershipSync()[Symbol.dispose]()
  assert.deepEqual(await writer.observe({ state: 'idle' }), LANDED)
})

test('an_argument_that_is_no_observation_is_refused_by_name', async (t) => {
  const { writer } = claimedSeat(t)
  const wrong = { code: 'GALLIVANT_INPUT', kind: 'input' }
  await assert.rejects(writer.observe(), wrong)
  await assert.rejects(writer.observe({ state: 'idle', blocked_on: 'human' }), { ...wrong, message: /blocked_on/ })
  await assert.rejects(writer.observe({ state: 'idle', reason: 5 }), { ...wrong, message: /observation\.reason/ })
  assert.throws(() => writer.observeSync({}), { ...wrong, message: /observation\.state/ })
  await assert.rejects(writer.observe({ state: 'idle' }, { signal: {} }), { ...wrong, message: /signal/ })
  await assert.rejects(writer.observe({ state: 'idle' }, { sginal: null }), { ...wrong, reason: 'unknown-member' })
  assert.throws(() => writer.endedSync(3), { ...wrong, message: /exit/ })
  assert.throws(() => new Writer('x', { agent: 'a', harness: 'c', token: '' }), { code: 'HARNESS_STATE_EMPTY_TOKEN' })
})

test('an_io_error_names_path_and_system_error', async (t) => {
  const file = join(directoryFor(t), 'a-file')
  writeFileSync(file, '')
  const writer = new Writer(file, { agent: 'a', harness: 'c', token: 't', ptySession: 'p' })
  await assert.rejects(writer.observe({ state: 'idle' }), {
    code: 'HARNESS_STATE_IO', kind: 'unavailable', osError: 20, message: /a-file/,
  })
})
