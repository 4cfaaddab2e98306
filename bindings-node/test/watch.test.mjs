/** Watches: changes as they come, and an end that leaves nothing. */

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, readdirSync, readlinkSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { inspect } from 'node:util'
import { Worker } from 'node:worker_threads'
import { once } from 'node:events'
import { GallivantError, Session, identifyProcess, watch, watchFleet } from '../lib/index.js'
import { TestHost } from '../lib/testing.js'
import { PACKAGE, claimedOn, claimedSeat, directoryFor, runNode } from '../test-support/seat.mjs'

const LIBRARY = join(PACKAGE, 'lib', 'index.js')

/** A change by which something else is said, within the time that a loaded machine needs. */
async function next(watching, wanted = () => true) {
  for (;;) {
    const told = await Promise.race([watching.next(), pause(10_000, 'nothing was told', { ref: false })])
    assert.notEqual(told, 'nothing was told')
    assert.equal(told.done, false)
    if (wanted(told.value)) return told.value
  }
}

const said = ({ state }) => state && (state.reason ?? state.state)
/** The threads and descriptors of watches that this process has. Nobody else here has such ones. */
function held() {
  const threads = readdirSync('/proc/self/task').filter((id) => (
    attempt(() => readFileSync(`/proc/self/task/${id}/comm`, 'utf8').startsWith('gallivant-watch'))
  ))
  const descriptors = readdirSync('/proc/self/fd').filter((fd) => (
    attempt(() => /inotify|timerfd/.test(readlinkSync(`/proc/self/fd/${fd}`)))
  ))
  return { threads: threads.length, descriptors: descriptors.length }
}

/** A thread that was joined stands in the process table for a moment longer. */
async function holdsNothing() {
  for (let tries = 0; tries < 3000 && held().threads > 0; tries++) await new Promise((done) => setTimeout(done, 10))
  assert.deepEqual(held(), NOTHING)
}

/** What is listed may be gone by the time at which it is looked at. */
function attempt(action) {
  try { return action() } catch { return false }
}

const NOTHING = { threads: 0, descriptors: 0 }

test('hs_93_a_record_s_first_change_tells_what_is_there_and_the_next_what_became_of_it', async (t) => {
  const directory = join(directoryFor(t), 'not', 'yet')
  const watching = watch(directory)
  t.after(() => watching.close())
  assert.deepEqual(await next(watching), { state: null, noticing: 'notified' })
  const { writer } = claimedOn(directory)
  assert.equal(said(await next(watching)), 'claimed')
  writer.observeSync({ state: 'active', reason: 'x' })
  const { state } = await next(watching)
  assert.deepEqual([state.state, state.reason, state.transitionSequence], ['active', 'x', 1n])
  renameSync(directory, `${directory}-gone`)
  assert.equal(said(await next(watching)), null)
  claimedOn(directory)
  assert.equal(said(await next(watching)), 'claimed')
  assert.equal(watching.path, directory)
})

test('hs_93_a_change_is_told_within_50_ms', async (t) => {
  const { directory, writer } = claimedSeat(t)
  const watching = watch(directory)
  t.after(() => watching.close())
  await next(watching)
  // The middle one of some, of which a neighbour on this machine may delay any; and again while there is too much of that.
  let taken
  for (let tries = 0; tries < 10 && !(taken?.[10] < 50); tries += 1) {
    taken = []
    for (let turn = 0; turn < 20; turn += 1) {
      const telling = watching.next()
      await pause(10)
      const started = performance.now()
      writer.observeSync({ state: turn % 2 === 0 ? 'active' : 'idle' })
      await telling
      taken.push(performance.now() - started)
    }
    taken.sort((a, b) => a - b)
  }
  assert.ok(taken[10] < 50, `it took ${taken.map(Math.round)} ms`)
})

test('hs_93_a_fleet_tells_of_each_seat_that_comes_changes_and_goes', async (t) => {
  const root = directoryFor(t)
  const watching = watchFleet(root)
  t.after(() => watching.close())
  const first = await next(watching)
  assert.deepEqual([first.seats, first.noticing, first.leftOut.tooDeep], [[], 'notified', 0n])
  const one = claimedOn(join(root, 'one'))
  claimedOn(join(root, 'two', 'deeper'))
  const seen = new Map()
  const until = async (wanted) => {
    while (!wanted()) for (const { path, state } of (await next(watching)).seats) seen.set(path, state)
  }
  await until(() => seen.size === 2)
  assert.deepEqual([...seen.keys()].sort(), ['one', 'two/deeper'])
  one.writer.observeSync({ state: 'active' })
  await until(() => seen.get('one').state === 'active')
  rmSync(join(root, 'two'), { recursive: true })
  await until(() => seen.get('two/deeper') === null)
})

test('hs_93_what_happens_while_nobody_listens_comes_as_one_change', async (t) => {
  const { directory, writer } = claimedSeat(t)
  const watching = watch(directory)
  t.after(() => watching.close())
  await next(watching)
  for (let turn = 0; turn < 50; turn += 1) writer.observeSync({ state: 'active', reason: String(turn) })
  await pause(50)
  assert.equal(said(await next(watching)), '49')
  writer.observeSync({ state: 'idle' })
  assert.equal(said(await next(watching)), 'idle')
})

test('hs_93_time_alone_is_told_and_so_is_a_session_that_dies', async (t) => {
  const root = directoryFor(t)
  const session = Session.startSync(join(root, 'one'), { agent: 'a', harness: 'c', ptySession: 'p' })
  session.writer.observeSync({ state: 'active' })
  const one = watch(join(root, 'one'), { probe: 'lease' })
  const all = watchFleet(root, { probe: 'lease' })
  const stale = watch(join(root, 'one'), { staleMs: 300 })
  t.after(() => Promise.all([one, all, stale].map((watching) => watching.close())))
  assert.equal(said(await next(one)), 'active')
  assert.equal(said((await next(all)).seats[0]), 'active')
  assert.equal(said(await next(stale, (change) => said(change) !== 'active')), 'stale')
  session.close()
  assert.equal(said(await next(one)), 'session-dead')
  assert.equal(said((await next(all)).seats[0]), 'session-dead')
})

test('hs_93_a_probe_of_one_s_own_is_asked_at_its_interval_and_turns_the_state_when_it_says_dead', async (t) => {
  const { directory, writer } = claimedSeat(t)
  writer.observeSync({ state: 'active' })
  const asked = []
  let answer = true
  const probe = async (record) => {
    asked.push(record)
    await pause(1)
    return answer
  }
  const watching = watch(directory, { probe, probeIntervalMs: 20, probeBudgetMs: 5000 })
  t.after(() => watching.close())
  assert.equal(said(await next(watching)), 'active')
  const telling = watching.next()
  while (asked.length < 4) await pause(5)
  answer = false
  assert.equal(said((await telling).value), 'session-dead')
  assert.deepEqual([asked[0].state, asked[0].seq, asked[0].extension.evidence], ['active', 1n, 'wrapper'])
  assert.throws(() => { asked[0].seq = 2n }, TypeError)
})

test('hs_81_a_probe_that_throws_or_never_answers_turns_nothing_and_holds_up_no_end', async (t) => {
  const { directory, writer } = claimedSeat(t)
  writer.observeSync({ state: 'active' })
  for (const probe of [() => { throw new Error('no') }, () => Promise.reject(new Error('no')), () => 'dead?']) {
    const watching = watch(directory, { probe })
    assert.equal(said(await next(watching)), 'active')
    await watching.close()
  }
  const late = watch(directory, { probe: () => new Promise(() => {}), probeBudgetMs: 30 })
  assert.equal(said(await next(late)), 'active')
  await late.close()
  let wasAsked = false
  const never = watch(directory, {
    probe: () => new Promise(() => { wasAsked = true }), probeBudgetMs: 60_000,
  })
  const telling = never.next()
  while (!wasAsked) await pause(5)
  await never.close()
  assert.equal((await telling).done, true)
})

test('hs_94_a_process_and_a_fixed_answer_are_probes_of_a_watch_too', async (t) => {
  const { directory, writer } = claimedSeat(t)
  writer.observeSync({ state: 'active' })
  const gone = { ...identifyProcess(process.pid), start: 1n }
  for (const [probe, wanted] of [['dead', 'session-dead'], [identifyProcess(process.pid), 'active'], [gone, 'session-dead']]) {
    const watching = watch(directory, { probe })
    assert.equal(said(await next(watching)), wanted)
    await watching.close()
  }
})

test('hs_93_leaving_the_loop_closing_and_disposing_leave_no_thread_and_no_descriptor', async (t) => {
  const { directory } = claimedSeat(t)
  await holdsNothing()
  for await (const { state } of watch(directory)) {
    assert.equal(state.reason, 'claimed')
    assert.equal(held().threads, 1)
    assert.ok(held().descriptors > 0)
    break
  }
  await holdsNothing()
  const closed = watchFleet(directory)
  await closed.close()
  await closed.close()
  await holdsNothing()
  const disposed = watch(directory)
  await next(disposed)
  if (Symbol.asyncDispose !== undefined) await disposed[Symbol.asyncDispose]()
  else await disposed.close()
  assert.equal(disposed.closed, true)
  assert.deepEqual(await disposed.next(), { done: true, value: undefined })
  assert.deepEqual(await disposed.return('x'), { done: true, value: 'x' })
  await Promise.all(Array.from({ length: 20 }, () => watch(directory).close()))
  await holdsNothing()
})

test('whoever_waits_when_a_watch_is_closed_is_told_that_it_is_done', async (t) => {
  const { directory } = claimedSeat(t)
  const watching = watch(directory)
  await next(watching)
  const waiting = [watching.next(), watching.next()]
  await watching.close()
  assert.deepEqual(await Promise.all(waiting), [{ done: true, value: undefined }, { done: true, value: undefined }])
})

test('a_signal_ends_a_watch_with_its_reason', async (t) => {
  const { directory } = claimedSeat(t)
  const reason = new Error('enough')
  assert.throws(() => watch(directory, { signal: AbortSignal.abort(reason) }), (error) => error === reason)
  const stop = new AbortController()
  const watching = watch(directory, { signal: stop.signal })
  await next(watching)
  const waiting = watching.next()
  stop.abort(reason)
  await assert.rejects(waiting, (error) => error === reason)
  assert.equal((await watching.next()).done, true)
  await watching.close()
  const second = new AbortController()
  const loop = async () => {
    for await (const _ of watchFleet(directory, { signal: second.signal })) second.abort(reason)
  }
  await assert.rejects(loop(), (error) => error === reason)
  for (let turn = 0; turn < 200 && held().threads > 0; turn += 1) await pause(10)
  await holdsNothing()
})

test('what_ends_a_watch_by_itself_is_thrown_once', async (t) => {
  const machine = new TestHost()
  for (const watching of [watch('', { host: machine.host }), watchFleet('')]) {
    await assert.rejects(watching.next(), (error) => (
      error instanceof GallivantError && error.code === 'HARNESS_STATE_INPUT' && error.reason === 'path'
    ))
    assert.deepEqual(await watching.next(), { done: true, value: undefined })
    await watching.close()
  }
  const isWrong = (reason) => (error) => error.code === 'GALLIVANT_INPUT' && error.reason === reason
  const noProbe = { code: 'HARNESS_STATE_INPUT', reason: 'probe' }
  assert.throws(() => watch(directoryFor(t), { probe: 'leash' }), noProbe)
  assert.throws(() => watchFleet(directoryFor(t), { probe: 'dead' }), noProbe)
  assert.throws(() => watch(directoryFor(t), { maxDepth: 1 }), isWrong('unknown-member'))
  assert.throws(() => watch(directoryFor(t), { settleMs: -1 }), isWrong('out-of-range'))
  assert.throws(() => watch(1), isWrong('argument'))
})

/** Runs a program that watches `directory` and says what it has to say. */
function program(directory, text) {
  const script = `const { watch, watchFleet } = require(${JSON.stringify(LIBRARY)}); const directory = process.argv[1]; ${text}`
  return runNode(['-e', script, directory], { timeout: 120_000 })
}

test('an_open_watch_keeps_the_process_alive_unless_it_is_unreferenced', async (t) => {
  const { directory } = claimedSeat(t)
  const kept = await program(directory, `
    const open = watch(directory)
    setTimeout(() => { console.log('alive'); open.close() }, 300).unref()`)
  assert.deepEqual(kept, { code: 0, signal: null, stdout: 'alive\n', stderr: '' })
  const left = await program(directory, "watch(directory).unref(); process.on('exit', () => console.log('left'))")
  assert.deepEqual(left, { code: 0, signal: null, stdout: 'left\n', stderr: '' })
  const again = await program(directory, `
    const open = watchFleet(directory).unref().ref()
    setTimeout(() => { console.log('alive'); open.close() }, 300).unref()`)
  assert.equal(again.stdout, 'alive\n')
})

test('the_process_ends_while_watches_are_open', async (t) => {
  const { directory } = claimedSeat(t)
  const { code, stderr } = await program(directory, `
    for (let one = 0; one < 10; one += 1) { const open = watch(directory); open.next().then(() => open.next()) }
    setTimeout(() => process.exit(7), 100)`)
  assert.deepEqual([code, stderr], [7, ''])
})

test('hs_93_nothing_is_done_while_nothing_changes', async (t) => {
  const { directory } = claimedSeat(t)
  const { stdout } = await program(directory, `
    const open = watchFleet(directory)
    open.next().then(() => {
      open.next()
      setTimeout(() => {
        const before = process.cpuUsage()
        setTimeout(() => {
          const { user, system } = process.cpuUsage(before)
          console.log(user + system)
          open.close()
        }, 1000)
      }, 200)
    })`)
  assert.ok(Number(stdout) < 50_000, `it used ${stdout} us of processor time in a second`)
})

test('c_064_workers_with_open_watches_end_with_success', async (t) => {
  const root = directoryFor(t)
  const { writer } = claimedOn(join(root, 'one'))
  writer.observeSync({ state: 'active' })
  const source = `
    const { parentPort, workerData: { file, root, ending } } = require('node:worker_threads')
    const { watch, watchFleet } = require(file)
    const open = [watch(root + '/one', { probe: () => true, probeIntervalMs: 10 }), watchFleet(root, { probe: 'lease' })]
    Promise.all(open.map((one) => one.next())).then(() => {
      for (const one of open) one.next()
      parentPort.postMessage('watching')
      if (ending === 'unref') for (const one of open) one.unref()
      if (ending === 'exit') process.exit(0)
      if (ending === 'close') Promise.all(open.map((one) => one.close()))
    })`
  const end = async (ending) => {
    const worker = new Worker(source, { eval: true, workerData: { file: LIBRARY, root, ending } })
    const exit = once(worker, 'exit')
    await once(worker, 'message')
    if (ending === 'terminate') return worker.terminate()
    return (await exit)[0]
  }
  const endings = Array.from({ length: 4 }, () => ['unref', 'exit', 'close', 'terminate']).flat()
  for (const ending of endings) {
    assert.equal(await end(ending), ending === 'terminate' ? 1 : 0, ending)
    await holdsNothing()
  }
})

test('a_watch_shows_its_path_and_whether_it_is_closed', async (t) => {
  const { directory } = claimedSeat(t)
  const watching = watch(directory)
  assert.equal(inspect(watching, { breakLength: Infinity }), `Watch { path: '${directory}', closed: false }`)
  await watching.close()
  assert.equal(inspect(watching, { breakLength: Infinity }), `Watch { path: '${directory}', closed: true }`)
})

test('thirty_watches_hold_no_worker_of_the_pool', async (t) => {
  const { directory, writer } = claimedSeat(t)
  mkdirSync(join(directory, 'below'))
  const open = Array.from({ length: 30 }, () => watch(directory))
  await Promise.all(open.map((one) => next(one)))
  const waiting = open.map((one) => one.next())
  assert.equal((await writer.observe({ state: 'active' })).outcome, 'landed')
  for (const told of await Promise.all(waiting)) assert.equal(said(told.value), 'active')
  await Promise.all(open.map((one) => one.close()))
})
