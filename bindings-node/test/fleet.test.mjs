/** Fleets: every record below a directory in one crossing. */

import assert from 'node:assert/strict'
import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Fleet, GallivantError, Reader, Session, readFleet, readFleetSync, watchFleet } from '../lib/index.js'
import { TestHost } from '../lib/testing.js'
import { claimedOn, directoryFor } from '../test-support/seat.mjs'

/** A seat below a root, on which something is observed. */
function agentIn(root, path, observation = { state: 'active' }, options) {
  mkdirSync(join(root, path), { recursive: true })
  const seat = claimedOn(join(root, path), options)
  seat.writer.observeSync(observation)
  return seat
}

const paths = (view) => view.entries.map(({ path }) => path)

test('hs_92_a_fleet_says_of_each_record_what_a_reader_says_and_one_bad_entry_hides_no_other', async (t) => {
  const machine = new TestHost({ wallMs: 1_800_000_000_000n })
  const options = { host: machine.host }
  const root = directoryFor(t)
  agentIn(root, 'b', { state: 'active', blockedOn: 'human', ask: 'review', inputBuffer: 'nonempty', reason: 'a "b"\n\u2028ü😀' }, options)
  agentIn(root, 'a/deep/er', { state: 'idle', inputBuffer: 'empty', reason: '' }, options)
  agentIn(root, 'c', { state: 'ended', exit: 'signal 9' }, options)
  mkdirSync(join(root, 'empty'))
  mkdirSync(join(root, 'damaged'))
  writeFileSync(join(root, 'damaged', 'harness-state'), '{')
  agentIn(root, '.', { state: 'ready' }, options)
  const wanted = ['.', 'a/deep/er', 'b', 'c', 'damaged']
  const fleet = new Fleet(root, options)
  const views = [
    await fleet.read(), await fleet.read(), fleet.readSync(),
    await readFleet(root, options), readFleetSync(pathToFileURL(root), options),
  ]
  for (const view of views) {
    assert.deepEqual(paths(view), wanted)
    for (const { path, state } of view.entries) {
      assert.deepEqual(state, new Reader(join(root, path), options).readSync(), path)
    }
    assert.equal(view.entries[4].state.reason, 'malformed-record')
    assert.equal(view.validUntilMs, 1_800_000_900_000n)
    assert.deepEqual(view.leftOut, { tooDeep: 0n, tooMany: 0n, unreadable: 0n, unnameable: 0n, example: null })
  }
  assert.equal(fleet.root, root)
})

test('hs_92_a_fleet_sees_what_comes_changes_and_goes', async (t) => {
  const root = directoryFor(t)
  const fleet = new Fleet(join(root, 'not', 'yet'))
  assert.deepEqual((await fleet.read()).entries, [])
  assert.equal((await fleet.read()).validUntilMs, null)
  const { writer } = agentIn(root, 'not/yet/one')
  assert.equal(fleet.readSync().entries[0].state.state, 'active')
  writer.observeSync({ state: 'idle' })
  agentIn(root, 'not/yet/two')
  assert.deepEqual((await fleet.read()).entries.map(({ path, state }) => [path, state.state]), [['one', 'idle'], ['two', 'active']])
  renameSync(join(root, 'not/yet/one'), join(root, 'not/yet/three'))
  rmSync(join(root, 'not/yet/two'), { recursive: true })
  assert.deepEqual(paths(await fleet.read()), ['three'])
  fleet.forget()
  assert.deepEqual(paths(fleet.readSync()), ['three'])
})

test('hs_92_texts_that_have_not_changed_are_told_as_before_whatever_read_is_done_first', async (t) => {
  const root = directoryFor(t)
  const { writer } = agentIn(root, 'a')
  const fleet = new Fleet(root)
  const said = (view) => view.entries.map(({ path, state }) => [path, state.state, state.harness, state.reason])
  const first = said(fleet.readSync())
  assert.deepEqual(first, [['a', 'active', 'claude', null]])
  assert.deepEqual(said(fleet.readSync()), first)
  // The texts stay, and one of the words is another.
  writer.observeSync({ state: 'idle' })
  assert.deepEqual(said(fleet.readSync()), [['a', 'idle', 'claude', null]])
  const begun = fleet.read()
  agentIn(root, 'b', { state: 'idle', reason: 'other' })
  const both = [['a', 'idle', 'claude', null], ['b', 'idle', 'claude', 'other']]
  assert.deepEqual(said(fleet.readSync()), both)
  assert.ok([1, 2].includes((await begun).entries.length))
  assert.deepEqual((await begun).entries[0].path, 'a')
  assert.deepEqual(said(await fleet.read()), both)
  assert.deepEqual(said(fleet.readSync()), both)
  writer.observeSync({ state: 'idle', reason: 'now' })
  assert.deepEqual(said(await fleet.read())[0], ['a', 'idle', 'claude', 'now'])
  fleet.forget()
  assert.equal(said(fleet.readSync()).length, 2)
})

test('hs_92_bounds_are_kept_and_what_is_left_out_is_said', async (t) => {
  const root = directoryFor(t)
  for (const path of ['a', 'b', 'c/d/e']) agentIn(root, path)
  symlinkSync(join(root, 'a'), join(root, 'z'))
  assert.deepEqual(paths(readFleetSync(root)), ['a', 'b', 'c/d/e'], 'links are not followed on the way')
  const shallow = await readFleet(root, { maxDepth: 1 })
  assert.deepEqual([paths(shallow), shallow.leftOut.tooDeep], [['a', 'b'], 1n])
  const few = readFleetSync(root, { maxRecords: 2 })
  assert.deepEqual([paths(few).length, few.leftOut.tooMany > 0n], [2, true])
  const narrow = await readFleet(root, { maxDirectories: 2 })
  assert.ok(paths(narrow).length < 3 && narrow.leftOut.tooMany > 0n)
})

test('hs_92_threads_that_share_a_walk_find_what_one_finds_in_the_same_order', async (t) => {
  const root = directoryFor(t)
  agentIn(root, '0')
  for (let i = 1; i < 150; i += 1) cpSync(join(root, '0'), join(root, `${i}`), { recursive: true })
  const found = ({ entries, leftOut }) => [entries.map(({ path, state }) => [path, state.state]), leftOut]
  for (const bounds of [{}, { maxRecords: 70 }]) {
    const alone = readFleetSync(root, bounds)
    assert.equal(alone.entries.length, bounds.maxRecords ?? 150)
    for (const threads of [2, 64, 1000]) {
      assert.deepEqual(found(await readFleet(root, { ...bounds, threads })), found(alone))
    }
  }
  for (const threads of [-1, 1.5, '2', 2n]) {
    assert.throws(() => new Fleet(root, { threads }), { code: 'GALLIVANT_INPUT', reason: 'argument' })
  }
  assert.throws(() => watchFleet(root, { threads: 2 }), { code: 'GALLIVANT_INPUT', reason: 'unknown-member' })
})

test('hs_94_the_lease_tells_of_dead_sessions_and_no_other_probe_is_taken', async (t) => {
  const root = directoryFor(t)
  const start = { agent: 'a', harness: 'claude', ptySession: 'p' }
  const [lives, dies] = ['lives', 'dies'].map((name) => Session.startSync(join(root, name), start))
  for (const session of [lives, dies]) session.writer.observeSync({ state: 'active' })
  dies.close()
  const states = (view) => view.entries.map(({ state }) => state.reason ?? state.state)
  assert.deepEqual(states(await readFleet(root)), ['active', 'active'])
  assert.deepEqual(states(await readFleet(root, { probe: 'lease' })), ['session-dead', 'active'])
  assert.deepEqual(states(new Fleet(root).readSync({ probe: 'lease' })), ['session-dead', 'active'])
  lives.close()
  for (const probe of ['alive', () => true, {}]) {
    const wrong = { code: 'HARNESS_STATE_INPUT', reason: 'probe', message: /^the probe of a fleet is lease or none, given=`/ }
    assert.throws(() => readFleetSync(root, { probe }), wrong)
  }
})

test('hs_17_numbers_beyond_2_53_are_exact_in_a_fleet', (t) => {
  const [a, b] = [2n ** 53n + 1n, 2n ** 64n - 1n]
  const machine = new TestHost({ wallMs: a })
  const root = directoryFor(t)
  mkdirSync(join(root, 'one'))
  writeFileSync(join(root, 'one', 'harness-state'), '{"schema":"st2.harness-state.v1","agent":"a","harness":"codex",' +
    `"state":"idle","blockedOn":"none","inputBuffer":"empty","ask":"none","seq":${b},"sinceMs":${a},` +
    `"writtenAtMs":${a},"transitions":${b}}\n`)
  const options = { host: machine.host, staleMs: 2n ** 63n }
  const { entries: [{ state }], validUntilMs } = readFleetSync(root, options)
  assert.deepEqual(state, new Reader(join(root, 'one'), options).readSync())
  assert.deepEqual([state.sinceMs, state.ownershipSequence, validUntilMs], [a, b, a + 2n ** 63n])
})

test('reads_of_a_fleet_are_made_one_after_another_and_hold_one_worker_each', async (t) => {
  const root = directoryFor(t)
  for (let agent = 0; agent < 50; agent += 1) agentIn(root, `agent-${agent}`)
  const fleet = new Fleet(root)
  const views = await Promise.all(Array.from({ length: 20 }, () => fleet.read({ probe: 'lease' })))
  for (const view of views) assert.equal(view.entries.length, 50)
})

test('a_signal_that_has_fired_reads_nothing_and_wrong_arguments_are_told', async (t) => {
  const root = directoryFor(t)
  const reason = new Error('enough')
  const signal = AbortSignal.abort(reason)
  const fleet = new Fleet(root)
  await assert.rejects(fleet.read({ signal }), (error) => error === reason)
  await assert.rejects(readFleet(root, { signal }), (error) => error === reason)
  const isInput = (code, wanted) => (error) => (
    error instanceof GallivantError && error.code === code && error.reason === wanted
  )
  assert.throws(() => new Fleet(''), isInput('HARNESS_STATE_INPUT', 'path'))
  assert.throws(() => new Fleet(1), isInput('GALLIVANT_INPUT', 'argument'))
  for (const maxDepth of [-1, 1.5, '1', 2 ** 32]) {
    assert.throws(() => new Fleet(root, { maxDepth }), isInput('GALLIVANT_INPUT', 'argument'))
  }
  assert.throws(() => new Fleet(root, { depth: 1 }), isInput('GALLIVANT_INPUT', 'unknown-member'))
  await assert.rejects(fleet.read({ bounds: 1 }), isInput('GALLIVANT_INPUT', 'unknown-member'))
})

test('entries_are_plain_objects_of_one_s_own', (t) => {
  const options = { host: new TestHost({ wallMs: 1_800_000_000_000n }).host }
  const root = directoryFor(t)
  agentIn(root, 'one', { state: 'active' }, options)
  const { entries } = readFleetSync(root, options)
  assert.deepEqual(Object.keys(entries[0]), ['path', 'state'])
  entries[0].state.reason = 'mine'
  assert.deepEqual({ ...entries[0].state, reason: null }, readFleetSync(root, options).entries[0].state)
})
