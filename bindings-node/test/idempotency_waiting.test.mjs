/** Waiting for creates of others and for the database, and what ends it: signals, deadlines, the end of a worker. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { GallivantError } from '../lib/index.js'
import { NAME, holdDatabase, holdKey, reserved, storeFor, until } from '../test-support/creates.mjs'
import { PACKAGE, runNode } from '../test-support/seat.mjs'

const code = (wanted) => (error) => error instanceof GallivantError && error.code === wanted
const INDEX = join(PACKAGE, 'lib', 'index.js')

/** How many threads of this process listen for creates that end. */
function listeners() {
  const names = readdirSync('/proc/self/task').map((task) => {
    try {
      return readFileSync(`/proc/self/task/${task}/comm`, 'utf8')
    } catch {
      return ''
    }
  })
  return names.filter((name) => name.startsWith('gallivant-creat')).length
}

async function ticketFor(store, key) {
  const begin = await store.begin(...NAME, key, 'body')
  assert.equal(begin.kind, 'in_progress')
  return begin
}

test('ik_06_a_hundred_who_wait_hold_one_thread_and_no_worker_and_wake_at_once', async (t) => {
  const store = await storeFor(t)
  const held = await reserved(store, 'k')
  const ticket = await ticketFor(store, 'k')
  const waits = Array.from({ length: 100 }, () => ticket.wait({ deadlineMs: 60_000 }))
  await until(() => listeners() === 1, 'one thread')
  for (let turn = 0; turn < 20; turn += 1) {
    await readFile(join(PACKAGE, 'package.json'))
    assert.equal(listeners(), 1)
  }
  await held.complete('r-1', 'ok')
  const completed = performance.now()
  const ended = await Promise.all(waits)
  // Without a notice it would be a quarter of a second for most; a busy machine has its own ideas.
  const took = performance.now() - completed
  assert.ok(took < 15_000, `${took} ms`)
  assert.deepEqual([...new Set(ended.map(({ kind, how, resource }) => `${kind} ${how} ${resource}`))], ['replay waited r-1'])
  await until(() => listeners() === 0, 'no thread')
})

test('ik_06_who_waits_is_told_and_does_not_find_out_by_looking', async (t) => {
  const store = await storeFor(t)
  const lengths = []
  for (let turn = 0; turn < 9 || (Math.min(...lengths) >= 100 && turn < 40); turn += 1) {
    const held = await reserved(store, `k-${turn}`)
    const waiting = (await ticketFor(store, `k-${turn}`)).wait()
    await until(() => listeners() === 1)
    await pause(20)
    await held.complete('r', '')
    const completed = performance.now()
    await waiting
    lengths.push(performance.now() - completed)
  }
  // Looks lie 250 ms apart, so that whoever is not told waits for most of that, every time.
  assert.ok(Math.min(...lengths) < 100, `${lengths}`)
})

test('ik_06_of_those_who_wait_for_what_is_released_one_makes_it', async (t) => {
  const store = await storeFor(t)
  const held = await reserved(store, 'k')
  const ticket = await ticketFor(store, 'k')
  const waits = Array.from({ length: 10 }, () => ticket.wait({ deadlineMs: 60_000 }))
  await held.release()
  const made = await Promise.race(waits)
  assert.deepEqual([made.kind, made.how], ['create', 'waited'])
  await made.complete('r-2', 'ok')
  const ended = await Promise.all(waits)
  assert.equal(ended.filter(({ kind }) => kind === 'create').length, 1)
  assert.equal(ended.filter(({ kind, resource }) => kind === 'replay' && resource === 'r-2').length, 9)
})

test('ik_06_at_the_deadline_it_still_runs_and_the_ticket_stays_good', async (t) => {
  const store = await storeFor(t)
  const held = await reserved(store, 'k')
  const ticket = await ticketFor(store, 'k')
  for (const deadlineMs of [0, 60n]) {
    const started = performance.now()
    await assert.rejects(ticket.wait({ deadlineMs }), code('IDEMPOTENCY_IN_PROGRESS'))
    const took = performance.now() - started
    assert.ok(took >= Number(deadlineMs) - 1 && took < 15_000, `${took}`)
  }
  assert.equal((await ticket.look()).kind, 'in_progress')
  await held.complete('r-1', 'ok')
  assert.equal((await ticket.wait({ deadlineMs: 0 })).resource, 'r-1')
})

test('ik_06_a_signal_ends_a_wait_with_its_reason_and_nothing_is_held', async (t) => {
  const store = await storeFor(t)
  const held = await reserved(store, 'k')
  const ticket = await ticketFor(store, 'k')
  const reason = new Error('enough')
  await assert.rejects(ticket.wait({ signal: AbortSignal.abort(reason) }), (error) => error === reason)
  const controller = new AbortController()
  const waits = Array.from({ length: 5 }, () => ticket.wait({ signal: controller.signal }))
  await until(() => listeners() === 1)
  controller.abort(reason)
  for (const { reason: why } of await Promise.allSettled(waits)) assert.equal(why, reason)
  await until(() => listeners() === 0)
  // Fired while the last look runs: whatever that brings is given back.
  for (let turn = 0; turn < 20; turn += 1) {
    const late = new AbortController()
    const begun = store.begin(...NAME, `late-${turn}`, 'body', { signal: late.signal })
    setImmediate(() => late.abort(reason))
    const [{ status, value, reason: why }] = await Promise.allSettled([begun])
    if (status === 'rejected') assert.equal(why, reason)
    else assert.equal(value.kind, 'create')
    assert.equal((await store.inspect(...NAME, `late-${turn}`)) === null, status === 'rejected', `turn ${turn}`)
  }
  await held.release()
})

test('ik_06_ik_16_what_another_process_does_ends_a_wait', async (t) => {
  const store = await storeFor(t)
  for (const [word, kind, how] of [['complete', 'replay', 'waited'], ['release', 'create', 'waited']]) {
    const other = await holdKey(t, store.path, word)
    const waiting = (await ticketFor(store, word)).wait({ deadlineMs: 60_000 })
    assert.equal(await other.tell(word), 'done')
    const ended = await waiting
    assert.deepEqual([ended.kind, ended.how], [kind, how])
    if (kind === 'replay') assert.equal(Buffer.from(ended.answer).toString(), 'answer of the other')
  }
})

test('ik_05_ik_09_the_death_of_its_owner_ends_a_wait_and_after_the_mark_it_is_unknown', async (t) => {
  const store = await storeFor(t)
  const [plain, marked] = await Promise.all(['plain', 'marked'].map((key) => holdKey(t, store.path, key)))
  assert.equal(await marked.tell('mark'), 'done')
  const waits = await Promise.all(['plain', 'marked'].map((key) => ticketFor(store, key)))
  const ended = waits.map((ticket) => ticket.wait({ deadlineMs: 60_000 }))
  await Promise.all([plain.kill(), marked.kill()])
  const [made, unknown] = await Promise.all(ended)
  assert.deepEqual([made.kind, made.how, unknown.kind], ['create', 'taken-over', 'unknown'])
})

test('ik_19_a_busy_database_is_waited_for_until_the_deadline_without_a_worker', async (t) => {
  const store = await storeFor(t)
  const held = await reserved(store, 'mine')
  const database = await holdDatabase(t, store.path)
  const begins = Array.from({ length: 20 }, (_, number) => store.begin(...NAME, `k-${number}`, '', { deadlineMs: 4000 }))
  let ended = 0
  for (const begin of begins) begin.finally(() => { ended += 1 }).catch(() => {})
  const waited = Promise.allSettled(begins)
  // One that kept a worker of the pool would do so until its deadline.
  for (let turn = 0; turn < 10; turn += 1) await readFile(join(PACKAGE, 'package.json'))
  assert.equal(ended, 0, 'the pool is free for others')
  for (const { reason } of await waited) assert.equal(reason.code, 'IDEMPOTENCY_BUSY')
  const reason = new Error('enough')
  const signal = new AbortController()
  const aborted = store.begin(...NAME, 'k', '', { signal: signal.signal })
  const completing = held.complete('r-1', 'ok', { signal: signal.signal })
  await pause(50)
  const fired = performance.now()
  signal.abort(reason)
  for (const call of [aborted, completing]) await assert.rejects(call, (error) => error === reason)
  assert.ok(performance.now() - fired < 15_000)
  const capability = store.capability()
  assert.equal((await store.inspect(...NAME, 'mine')).state, 'reserved', 'reading waits for nobody')
  await database.release()
  assert.equal((await capability).keyedCreates, true)
  await held.complete('r-1', 'ok')
  assert.equal((await store.begin(...NAME, 'mine', 'body')).kind, 'replay')
})

test('ik_09_a_deadline_that_has_passed_does_not_age_anybody', async (t) => {
  // Forgotten is a reservation of a living owner after an hour. What the call's clock says of its own deadline is no age.
  const store = await storeFor(t)
  const held = await reserved(store, 'k')
  for (let turn = 0; turn < 20; turn += 1) {
    const begins = Array.from({ length: 8 }, () => store.begin(...NAME, 'k', 'body', { deadlineMs: turn % 3 }))
    for (const { kind } of await Promise.all(begins)) assert.equal(kind, 'in_progress')
  }
  await held.keepAlive({ deadlineMs: 1 }).catch(() => {})
  assert.equal((await store.begin(...NAME, 'k', 'body')).kind, 'in_progress')
})

test('ik_05_c_064_workers_that_end_while_they_create_and_wait_leave_nothing', async (t) => {
  const store = await storeFor(t)
  const mine = await reserved(store, 'mine')
  const source = `
    const { parentPort, workerData: { file, path, turn } } = require('node:worker_threads')
    const { IdempotencyStore } = require(file)
    IdempotencyStore.open(path).then(async (store) => {
      const scope = ['org', 'ws']
      const ticket = await store.begin('things.create', scope, 'mine', 'body')
      for (let wait = 0; wait < 10; wait += 1) void ticket.wait()
      for (let call = 0; call < 20; call += 1) void store.begin('things.create', scope, 'w-' + turn + '-' + call, 'body')
      setTimeout(() => parentPort.postMessage('busy'), turn % 4)
      if (turn % 2) setTimeout(() => process.exit(3), 3)
    })
  `
  for (let turn = 0; turn < 8; turn += 1) {
    const worker = new Worker(source, { eval: true, workerData: { file: INDEX, path: store.path, turn } })
    const exit = once(worker, 'exit')
    // One that exits by itself may be over before it has said anything.
    await Promise.race([once(worker, 'message'), exit])
    const started = performance.now()
    await worker.terminate()
    await exit
    assert.ok(performance.now() - started < 30_000, 'it does not wait for the create')
  }
  await until(() => listeners() === 0, 'no thread')
  // Every key is free or was never taken: the worker's process lives on, so that a key that was left would be held.
  for (let turn = 0; turn < 8; turn += 1) {
    for (let call = 0; call < 20; call += 1) {
      assert.equal((await store.begin(...NAME, `w-${turn}-${call}`, 'another body')).kind, 'create', `${turn} ${call}`)
    }
  }
  await mine.complete('r-1', 'ok')
})

test('c_064_the_process_exits_while_it_waits_and_a_wait_keeps_it_until_it_has_ended', async (t) => {
  const store = await storeFor(t)
  const held = await reserved(store, 'k')
  const script = (then) => `
    const { IdempotencyStore } = require('./lib/index.js')
    IdempotencyStore.open(process.argv[1]).then(async (store) => {
      const ticket = await store.begin('things.create', ['org', 'ws'], 'k', 'body')
      const waits = [1, 2, 3].map(() => ticket.wait())
      ${then}
      for (const { resource } of await Promise.all(waits)) console.log(resource)
    })
  `
  const exiting = await runNode(['-e', script('setTimeout(() => process.exit(7), 50)'), store.path], { cwd: PACKAGE })
  assert.deepEqual([exiting.code, exiting.stderr], [7, ''])
  const child = spawn(process.execPath, ['-e', script("console.log('waits')"), store.path], { cwd: PACKAGE })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (part) => { said += part })
  await until(() => said === 'waits\n')
  await pause(300)
  assert.equal(child.exitCode, null)
  const closed = once(child, 'close')
  await held.complete('r-1', 'ok')
  assert.deepEqual([...(await closed), said], [0, null, 'waits\nr-1\nr-1\nr-1\n'])
})
