/** Waiting for a lock: the event loop and libuv's pool stay free, and signals end it. */

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Reader, Session, Writer, claim, claimSync, observeHook } from '../lib/index.js'
import { claimedOn, claimedSeat, directoryFor, holdLock } from '../test-support/seat.mjs'

const claimant = { agent: 'host.worker', harness: 'claude', token: 'tok-a' }
const prompt = JSON.stringify({ hook_event_name: 'UserPromptSubmit' })

/** A signal that is aborted after so many milliseconds, and its reason. */
function abortedAfter(ms) {
  const controller = new AbortController()
  const reason = new Error('the caller has changed its mind')
  setTimeout(() => controller.abort(reason), ms)
  return { signal: controller.signal, reason }
}

/** How long this takes, in milliseconds. */
async function timed(action) {
  const started = performance.now()
  await action()
  return performance.now() - started
}

const recordIn = (directory) => readFileSync(join(directory, 'harness-state'), 'utf8')

test('waiting_calls_block_neither_the_event_loop_nor_the_pool', async (t) => {
  const patient = { lockWaitMs: 60_000 }
  const seats = Array.from({ length: 8 }, () => claimedSeat(t))
  const held = await Promise.all(seats.map(({ directory, identity }) => holdLock(t, directory, identity)))
  const waiting = seats.map(({ directory, identity }) => new Writer(directory, identity, patient).observe({ state: 'active' }))
  // One more of each kind that has something else to wait for afterwards.
  waiting.push(claim(seats[0].directory, claimant, patient), Session.start(seats[1].directory, claimant, patient))
  let settled = 0
  for (const call of waiting) call.then(() => { settled += 1 })
  const file = join(seats[0].directory, 'a-file')
  writeFileSync(file, 'x'.repeat(1000))
  // A call that kept the loop or a worker of the pool would do so until its wait is over.
  for (let turn = 0; turn < 50; turn += 1) {
    await readFile(file)
    await new Promise((resolve) => { setTimeout(resolve, 5) })
  }
  assert.equal(settled, 0, 'all of them wait still')
  await Promise.all(held.map((one) => one.release()))
  const answers = await Promise.all(waiting)
  assert.ok(answers.slice(0, 2).every((report) => ['landed', 'refused'].includes(report.outcome)))
  assert.ok(answers.slice(2, 8).every((report) => report.outcome === 'landed'))
  assert.deepEqual([answers[8].sequence > 1n, answers[9].holdsLease], [true, true])
  answers[9].close()
})

test('hs_21_waiting_ends_as_busy_after_the_lock_wait_counted_from_the_call', async (t) => {
  const { directory, identity } = claimedSeat(t)
  const held = await holdLock(t, directory, identity)
  const before = recordIn(directory)
  const writer = new Writer(directory, { ...identity, ptySession: 'p' }, { lockWaitMs: 2000 })
  const busy = { code: 'HARNESS_STATE_BUSY', kind: 'busy', message: /waited_ms=`2000`/ }
  // The later ones wait for the turn of the first, and no longer than they would have waited alone.
  const taken = await timed(() => Promise.all([1, 2, 3, 4, 5].map((step) => (
    assert.rejects(writer.observe({ state: 'active', reason: `${step}` }), busy)
  ))))
  assert.ok(taken >= 2000 && taken < 9000, `they took ${taken} ms`)
  const takenSync = await timed(async () => assert.throws(() => writer.observeSync({ state: 'active' }), busy))
  assert.ok(takenSync >= 2000 && takenSync < 9000, `it took ${takenSync} ms`)
  const impatient = { lockWaitMs: 0 }
  await assert.rejects(claim(directory, claimant, impatient), { code: 'HARNESS_STATE_BUSY' })
  assert.throws(() => claimSync(directory, claimant, impatient), { code: 'HARNESS_STATE_BUSY' })
  assert.equal(recordIn(directory), before)
  await held.release()
  assert.equal((await writer.observe({ state: 'active' })).outcome, 'landed')
})

test('hs_21_a_released_lock_is_noticed_soon', async (t) => {
  const { directory, identity, writer } = claimedSeat(t)
  const held = await holdLock(t, directory, identity)
  const waiting = writer.observe({ state: 'active' })
  setTimeout(() => held.release(), 300)
  const taken = await timed(() => waiting)
  assert.ok(taken >= 250 && taken < 9000, `it took ${taken} ms`)
})

test('a_call_whose_signal_has_fired_runs_nothing', async (t) => {
  const directory = directoryFor(t)
  const missing = join(directory, 'missing')
  const reason = { not: 'even an error' }
  const signal = AbortSignal.abort(reason)
  const writer = new Writer(missing, { ...claimant, ptySession: 'p' })
  const session = Session.startSync(directory, claimant)
  const reader = new Reader(missing)
  const never = () => assert.fail('nobody is asked')
  const isReason = (thrown) => thrown === reason
  for (const call of [
    () => writer.observe({ state: 'active' }, { signal }),
    () => writer.observeUnlessEnded({ state: 'active' }, { signal }),
    () => writer.ended('exit 0', { signal }),
    () => writer.heartbeat({ signal }),
    () => writer.lockCurrentOwnership({ signal }),
    () => writer.withCurrentOwnership(never, { signal }),
    () => reader.read({ signal }),
    () => reader.read({ signal, probe: never }),
    () => reader.snapshot({ signal }),
    () => claim(missing, claimant, { signal }),
    async () => claimSync(missing, claimant, { signal }),
    () => Session.start(missing, claimant, { signal }),
    () => session.attach(process.pid, { signal }),
    () => session.heartbeatIfDue({ signal }),
    () => session.end('exit 0', { signal }),
    () => observeHook('claude', prompt, { session, signal }),
  ]) await assert.rejects(call, isReason, String(call))
  assert.throws(() => readFileSync(missing), { code: 'ENOENT' })
  assert.equal((await new Reader(directory).read()).reason, 'claimed')
  session.close()
})

test('a_signal_ends_every_kind_of_waiting_with_its_reason_and_nothing_is_written', async (t) => {
  const directory = directoryFor(t)
  const session = await Session.start(directory, { ...claimant, ptySession: 'p' })
  const { writer } = session
  const held = await holdLock(t, directory, session.environment())
  const before = recordIn(directory)
  for (const call of [
    (signal) => writer.observe({ state: 'active' }, { signal }),
    (signal) => writer.observeUnlessEnded({ state: 'active' }, { signal }),
    (signal) => writer.ended('exit 0', { signal }),
    (signal) => writer.heartbeat({ signal }),
    (signal) => writer.withCurrentOwnership(() => assert.fail('it has no lock'), { signal }),
    (signal) => claim(directory, claimant, { signal }),
    (signal) => Session.start(directory, claimant, { signal }),
    (signal) => session.attach(process.pid, { signal }),
    (signal) => session.end('exit 0', { signal }),
    (signal) => observeHook('claude', prompt, { session, signal }),
  ]) {
    const { signal, reason } = abortedAfter(60)
    const taken = await timed(() => assert.rejects(call(signal), (thrown) => thrown === reason, String(call)))
    assert.ok(taken < 9000, `${call} took ${taken} ms`)
  }
  assert.equal(recordIn(directory), before)
  await held.release()
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal(recordIn(directory), before, 'nothing comes later either')
  assert.equal((await writer.observe({ state: 'active' })).outcome, 'landed')
  session.close()
})

test('a_signal_ends_the_wait_for_a_turn_and_the_next_call_is_not_disturbed', async (t) => {
  const { directory, identity, writer } = claimedSeat(t)
  const held = await holdLock(t, directory, identity)
  const { signal, reason } = abortedAfter(50)
  const first = writer.observe({ state: 'active', reason: 'first' })
  const second = writer.observe({ state: 'active', reason: 'second' }, { signal })
  const third = writer.observe({ state: 'active', reason: 'third' })
  await assert.rejects(second, reason)
  await held.release()
  assert.deepEqual((await Promise.all([first, third])).map((report) => report.outcome), ['landed', 'landed'])
  const { transitions, reason: last } = JSON.parse(recordIn(directory))
  assert.deepEqual([transitions, last], [2, 'third'])
})

test('a_signal_that_fires_too_late_takes_back_nothing', async (t) => {
  for (let turn = 0; turn < 200; turn += 1) {
    const { directory, writer } = claimedSeat(t)
    const controller = new AbortController()
    const call = writer.observe({ state: 'active' }, { signal: controller.signal })
    // At every moment of the call's life, from before the worker takes it until after it has answered.
    if (turn % 4 === 0) controller.abort()
    else if (turn % 4 === 1) setImmediate(() => controller.abort())
    else setTimeout(() => controller.abort(), turn % 4 - 2)
    const landed = await call.then((report) => report.outcome === 'landed', () => false)
    assert.equal(recordIn(directory).includes('"active"'), landed)
  }
})

test('a_signal_ends_the_wait_for_a_probe', async (t) => {
  const { directory, writer } = claimedSeat(t)
  await writer.observe({ state: 'active' })
  const reader = new Reader(directory, { probeBudgetMs: 60_000 })
  const { signal, reason } = abortedAfter(50)
  const taken = await timed(() => assert.rejects(reader.read({ signal, probe: () => new Promise(() => {}) }), reason))
  assert.ok(taken < 30_000, `it took ${taken} ms`)
  assert.ok(!process.getActiveResourcesInfo().includes('Timeout'), 'no timer is left behind')
})

test('a_call_leaves_no_listener_on_its_signal', async (t) => {
  const { writer } = claimedSeat(t)
  let listeners = 0
  const signal = {
    aborted: false,
    addEventListener() { listeners += 1 },
    removeEventListener() { listeners -= 1 },
  }
  await writer.observe({ state: 'active' }, { signal })
  await assert.rejects(writer.observe({ state: 'unknown' }, { signal }))
  await new Reader(writer.directory).read({ signal, probe: () => true })
  assert.equal(listeners, 0)
})

test('many_waiting_calls_of_many_writers_all_come_through', async (t) => {
  const { directory, identity } = claimedSeat(t)
  const writers = Array.from({ length: 40 }, () => new Writer(directory, identity))
  const held = await holdLock(t, directory, identity)
  const calls = writers.map((writer, index) => writer.observe({ state: 'active', reason: `${index}` }))
  setTimeout(() => held.release(), 100)
  const reports = await Promise.all(calls)
  assert.ok(reports.every((report) => report.outcome === 'landed'))
  assert.equal(JSON.parse(recordIn(directory)).transitions, 40)
  claimedOn(directory)
})
