/** Replays: frames to come, a hundred readers, what ends them, and what is left. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { Worker } from 'node:worker_threads'
import { GallivantError } from '../lib/index.js'
import { HEARTBEAT_MS, MAX_PENDING_BYTES, replay } from '../lib/journal.js'
import { TestHost } from '../lib/testing.js'
import { descriptors, event, framesUntil, ids, lookouts, runFor, until } from '../test-support/journal.mjs'
import { PACKAGE, directoryFor, runNode } from '../test-support/seat.mjs'

const code = (wanted, reason = null) => (error) => {
  assert.ok(error instanceof GallivantError, inspect(error))
  assert.deepEqual([error.code, error.reason], [wanted, reason])
  return true
}
/** A replay that ends with its test, also with one that fails. */
function opened(t, ...args) {
  const frames = replay(...args)
  t.after(() => frames.close())
  return frames
}

const idsOf = (frames) => frames.map(({ id }) => id)

test('ex_jrn_67_ex_jrn_69_a_replay_goes_on_just_after_its_id_with_frames', async (t) => {
  const run = runFor(t)
  run.sayTexts('one', 'two\nlines', 'three')
  assert.deepEqual(await framesUntil(run.directory, '2'), [
    { id: '1', event: 'line', data: '{"id":"1","kind":"line","text":"one"}' },
    { id: '2', event: 'line', data: '{"id":"2","kind":"line","text":"two\\nlines"}' },
  ])
  assert.deepEqual(idsOf(await framesUntil(run.directory, '3', { lastEventId: '1' })), ['2', '3'])
  run.projection.trimSync(60)
  const [gap, ...rest] = await framesUntil(run.directory, '3', { lastEventId: '1' })
  assert.deepEqual([gap, idsOf(rest)], [{ id: null, event: 'gap', data: '{"id":null,"kind":"gap","reason":"retained"}' }, ['3']])
})

test('ex_jrn_68_ex_jrn_86_an_id_that_was_never_issued_begins_with_a_gap_and_moves_no_cursor', async (t) => {
  const run = runFor(t)
  run.say(1)
  const frames = opened(t, run.directory, { lastEventId: 'made-up' })
  assert.equal(frames.resumePoint, 'made-up')
  const { value } = await frames.next()
  assert.deepEqual([value.id, value.event, frames.resumePoint], [null, 'gap', 'made-up'])
  assert.deepEqual([(await frames.next()).value.id, frames.resumePoint], ['1', '1'])
  await frames.close()
  assert.equal(frames.resumePoint, '1')
})

test('it_follows_a_log_that_grows_is_trimmed_and_comes_again', async (t) => {
  const root = directoryFor(t)
  const directory = join(root, 'run')
  mkdirSync(directory)
  const run = runFor(t, directory)
  const seen = []
  const frames = opened(t, directory)
  const reading = (async () => { for await (const { id } of frames) seen.push(id) })()
  for (let turn = 0; turn < 30; turn += 1) {
    run.say(3)
    if (turn % 7 === 6) {
      await until(() => seen.length === turn * 3 + 3, 'every row')
      run.projection.trimSync(200)
    }
    await pause(turn % 3)
  }
  await until(() => seen.length === 90, 'every row')
  // Everything that the projection is made of goes, and it is made again.
  for (const name of ['job.log', 'job.idx', 'log-meta.json']) rmSync(join(directory, name))
  run.say(2)
  await until(() => seen.length === 92, 'what came after')
  // Its time is over while another waits, too.
  assert.equal(await frames.nextFrame({ timeoutMs: 20 }), null)
  await frames.close()
  await reading
  assert.deepEqual(seen, ids(1, 92))
})

test('what_was_not_there_yet_comes_and_a_directory_that_is_moved_is_still_read', async (t) => {
  const root = directoryFor(t)
  const directory = join(root, 'run')
  mkdirSync(directory)
  const run = runFor(t, directory)
  const frames = opened(t, directory)
  const first = frames.next()
  await pause(30)
  run.say(1)
  assert.equal((await first).value.id, '1')
  const second = frames.next()
  await until(() => lookouts() === 1)
  renameSync(directory, join(root, 'moved'))
  run.say(1)
  assert.equal((await second).value.id, '2')
  await frames.close()
})

test('ex_jrn_72_a_hundred_readers_of_one_live_log_lose_nothing_and_see_nothing_twice', { timeout: 120_000 }, async (t) => {
  const run = runFor(t)
  run.say(20)
  const before = descriptors()
  const last = '320'
  let most = 0
  let begun = 0
  const readers = Array.from({ length: 100 }, async (_, number) => {
    const seen = []
    const frames = opened(t, run.directory)
    for await (const { id } of frames) {
      if (seen.length === 0) begun += 1
      seen.push(id)
      most = Math.max(most, frames.pendingBytes)
      if (id === last) break
      // Each at its own pace, some with pauses in which much is said.
      if (number % 5 === 0) await pause(number % 3)
      else if (number % 17 === 1 && seen.length % 50 === 0) await pause(40)
    }
    assert.ok(frames.closed)
    return seen
  })
  await until(() => begun === 100, 'every reader')
  await until(() => lookouts() > 0, 'somebody waits')
  for (let round = 0; round < 30; round += 1) {
    run.say(10, 'x'.repeat(2000))
    const started = performance.now()
    await readFile(join(PACKAGE, 'package.json'))
    assert.ok(performance.now() - started < 30_000, 'the pool is free for others')
    await until(() => lookouts() <= 1, 'one thread, however many wait')
    if (round === 15) run.projection.trimSync(300_000)
  }
  for (const seen of await Promise.all(readers)) {
    const numbers = seen.filter((id) => id !== null)
    // Who was slower than the trimming has a gap in the place of what went.
    if (seen.includes(null)) assert.deepEqual([...new Set(numbers)].sort((a, b) => a - b), numbers)
    else assert.deepEqual(numbers, ids(1, 320))
  }
  assert.ok(most > 0 && most <= MAX_PENDING_BYTES, `${most}`)
  await until(() => lookouts() === 0, 'no thread')
  assert.deepEqual(descriptors(), before)
})

test('ex_jrn_70_pending_bytes_are_bounded_while_nobody_takes', async (t) => {
  const run = runFor(t)
  run.sayTexts(...Array.from({ length: 40 }, () => 'w'.repeat(50_000)))
  const frames = opened(t, run.directory)
  const { value } = await frames.next()
  assert.equal(value.id, '1')
  const held = frames.pendingBytes
  assert.ok(held > 100_000 && held <= MAX_PENDING_BYTES, `${held}`)
  await pause(50)
  assert.equal(frames.pendingBytes, held, 'nothing is read while that much waits')
  const seen = ['1']
  while (seen.length < 40) {
    seen.push((await frames.nextFrame()).id)
    assert.ok(frames.pendingBytes <= MAX_PENDING_BYTES)
  }
  assert.deepEqual(seen, ids(1, 40))
  assert.equal(frames.pendingBytes, 0)
  await frames.close()
})

test('ex_jrn_70_a_heartbeat_comes_after_twenty_seconds_and_has_no_id', async (t) => {
  const run = runFor(t)
  run.say(1)
  const machine = new TestHost({ wallMs: 1_700_000_000_000n })
  const frames = opened(t, run.directory, { host: machine.host })
  assert.equal((await frames.next()).value.id, '1')
  assert.equal(await frames.nextFrame({ timeoutMs: 0 }), null)
  machine.advanceMs(HEARTBEAT_MS - 5000)
  assert.equal(await frames.nextFrame({ timeoutMs: 0 }), null)
  machine.advanceMs(5000)
  assert.deepEqual(await frames.nextFrame({ timeoutMs: 0 }), { id: null, event: 'heartbeat', data: '' })
  assert.equal(await frames.nextFrame({ timeoutMs: 0 }), null)
  assert.deepEqual([frames.resumePoint, HEARTBEAT_MS], ['1', 20_000])
  await frames.close()
})

test('a_wait_for_a_frame_is_over_in_its_time_and_without_descriptors_it_looks_by_itself', async (t) => {
  const run = runFor(t)
  const frames = opened(t, run.directory)
  const started = performance.now()
  assert.equal(await frames.nextFrame({ timeoutMs: 60n }), null)
  const took = performance.now() - started
  assert.ok(took >= 59 && took < 15_000, `${took}`)
  assert.equal(frames.closed, false)
  await assert.rejects(frames.nextFrame({ timeoutMs: -1 }), code('GALLIVANT_INPUT', 'out-of-range'))
  await assert.rejects(frames.nextFrame({ timeout: 1 }), code('GALLIVANT_INPUT', 'unknown-member'))
  await frames.close()
  // Where the system does not tell, a look is due after a second.
  const { host } = new TestHost({ faults: [{ on: 'watch', do: 'error', errno: 'ENOSPC', repeat: true }] })
  const polling = opened(t, run.directory, { host })
  const next = polling.next()
  await until(() => lookouts() === 1)
  run.say(1)
  assert.equal((await next).value.id, '1')
  await polling.close()
})

test('a_signal_ends_a_wait_with_its_reason_and_a_loop_that_is_left_closes', async (t) => {
  const run = runFor(t)
  run.say(2)
  const before = descriptors()
  const reason = new Error('enough')
  assert.throws(() => replay(run.directory, { signal: AbortSignal.abort(reason) }), (error) => error === reason)
  const controller = new AbortController()
  const counted = { added: 0, removed: 0 }
  const signal = {
    get aborted() { return controller.signal.aborted }, get reason() { return controller.signal.reason },
    addEventListener(...args) { counted.added += 1; controller.signal.addEventListener(...args) },
    removeEventListener(...args) { counted.removed += 1; controller.signal.removeEventListener(...args) },
  }
  const frames = opened(t, run.directory, { signal, lastEventId: '2' })
  const waits = [frames.next(), frames.next()]
  await until(() => lookouts() === 1)
  controller.abort(reason)
  await assert.rejects(waits[0], (error) => error === reason)
  assert.deepEqual(await waits[1], { done: true, value: undefined })
  assert.deepEqual(await frames.next(), { done: true, value: undefined })
  await frames.close()
  // Nobody waits when it fires: the next who asks is told.
  const second = new AbortController()
  const idle = opened(t, run.directory, { signal: second.signal })
  await idle.next()
  second.abort(reason)
  assert.ok(idle.closed)
  await assert.rejects(idle.nextFrame(), (error) => error === reason)
  assert.equal(await idle.nextFrame(), null)
  let left
  const third = new AbortController()
  for await (const { id } of left = replay(run.directory, { signal: third.signal })) if (id === '1') break
  assert.ok(left.closed)
  await assert.rejects(async () => { for await (const _ of left = replay(run.directory)) throw reason }, (error) => error === reason)
  assert.ok(left.closed)
  await until(() => lookouts() === 0, 'no thread')
  assert.deepEqual(counted, { added: 1, removed: 1 })
  assert.deepEqual(descriptors(), before)
})

test('ex_jrn_71_closing_gives_everything_back_at_once', async (t) => {
  const run = runFor(t)
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const timersOpen = () => descriptors()['anon_inode:[timerfd]'] ?? 0
  const [before, timersBefore] = [descriptors(), timers()]
  for (let turn = 0; turn < 5; turn += 1) {
    const open = Array.from({ length: 10 }, () => opened(t, run.directory))
    const waits = open.map((frames) => frames.next())
    // Some turns close what is being opened still. A replay has two timers.
    if (turn % 2 === 0) await until(() => lookouts() === 1 && timersOpen() === 20, 'all are open and wait')
    await Promise.all(open.map((frames) => frames.close()))
    assert.deepEqual(descriptors(), before)
    await until(() => lookouts() === 0, 'no thread')
    for (const end of await Promise.all(waits)) assert.equal(end.done, true)
  }
  const never = opened(t, run.directory)
  await never.close()
  assert.deepEqual(await never.return(7), { done: true, value: 7 })
  assert.match(inspect(never), /^Replay \{\s+directory: '.*',\s+resumePoint: null,\s+closed: true\s+\}$/)
  assert.equal(timers(), timersBefore)
})

test('ex_jrn_85_errors_have_their_codes_end_it_and_lose_no_row', async (t) => {
  const run = runFor(t)
  run.say(3)
  const before = descriptors()
  await assert.rejects(replay(join(run.directory, 'nowhere')).next(), code('EXECUTION_UNKNOWN_RUN'))
  const frames = opened(t, run.directory)
  assert.equal((await frames.next()).value.id, '1')
  await frames.next()
  await frames.next()
  const meta = readFileSync(join(run.directory, 'log-meta.json'))
  const next = frames.next()
  // As a writer replaces it: whoever looks meanwhile finds the old one.
  writeFileSync(join(run.directory, 'log-meta.json.new'), '{"version":9}')
  renameSync(join(run.directory, 'log-meta.json.new'), join(run.directory, 'log-meta.json'))
  await assert.rejects(next, (error) => error.code === 'EXECUTION_VERSION')
  assert.deepEqual([frames.closed, frames.resumePoint, (await frames.next()).done], [true, '3', true])
  writeFileSync(join(run.directory, 'log-meta.json'), meta)
  run.say(1)
  assert.deepEqual(idsOf(await framesUntil(run.directory, '4', { lastEventId: frames.resumePoint })), ['4'])
  // Damage is a gap with its id and not the end.
  const path = join(run.directory, 'job.log')
  writeFileSync(path, readFileSync(path, 'utf8').replace('"sequence":2', '"sequence":7'))
  const [, damaged, third] = await framesUntil(run.directory, '4')
  assert.deepEqual([damaged.id, damaged.event, third.id], ['2', 'gap', '3'])
  await until(() => JSON.stringify(descriptors()) === JSON.stringify(before), 'nothing is left')
  assert.throws(() => replay(7), code('GALLIVANT_INPUT', 'argument'))
  assert.throws(() => replay(run.directory, { lastEventId: 7 }), code('GALLIVANT_INPUT', 'argument'))
  assert.throws(() => replay(run.directory, { after: '7' }), code('GALLIVANT_INPUT', 'unknown-member'))
})

test('gaps_of_the_journal_are_frames_with_their_ids', async (t) => {
  const run = runFor(t)
  run.journal.appendSync([event('e1', 'one'), { id: 'g', provenance: 'boundary', reason: 'local-output-missing' }, event('e2', 'two')])
  run.projection.catchUpSync()
  const frames = await framesUntil(run.directory, '3')
  assert.deepEqual(frames[1], { id: '2', event: 'gap', data: '{"id":"2","kind":"gap"}' })
})

test('c_064_workers_that_end_while_they_wait_and_a_process_that_exits_leave_nothing', async (t) => {
  const run = runFor(t)
  run.say(1)
  const source = `
    const { parentPort, workerData: { file, directory, turn } } = require('node:worker_threads')
    const { replay } = require(file)
    for (let at = 0; at < 5; at += 1) (async () => { for await (const _ of replay(directory)) parentPort.postMessage('one') })()
    if (turn % 2) setTimeout(() => process.exit(3), 20)
  `
  const before = descriptors()
  for (let turn = 0; turn < 6; turn += 1) {
    const workerData = { file: join(PACKAGE, 'lib', 'journal.js'), directory: run.directory, turn }
    const worker = new Worker(source, { eval: true, workerData })
    const exit = once(worker, 'exit')
    // One that exits by itself may be over before it has said anything.
    await Promise.race([once(worker, 'message'), exit])
    await pause(turn * 3)
    await worker.terminate()
    await exit
    await until(() => lookouts() === 0, 'no thread')
  }
  await until(() => (descriptors()['anon_inode:inotify'] ?? 0) === (before['anon_inode:inotify'] ?? 0), 'nothing is left')
  const script = (then) => `
    const { replay } = require('./lib/journal.js')
    const frames = replay(process.argv[1], { lastEventId: '1' })
    frames.next().then(({ value }) => { console.log(value.id); ${then} })
  `
  const exiting = await runNode(['-e', `${script('')}; setTimeout(() => process.exit(7), 100)`, run.directory], { cwd: PACKAGE })
  assert.deepEqual([exiting.code, exiting.stdout, exiting.stderr], [7, '', ''])
  // Who waits keeps the process; an open replay that nobody waits for does not.
  const waiting = runNode(['-e', script(''), run.directory], { cwd: PACKAGE })
  await pause(400)
  run.say(1)
  const { code: status, stdout, stderr } = await waiting
  assert.deepEqual([status, stdout, stderr], [0, '2\n', ''])
})
