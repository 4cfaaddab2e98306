/** Worker threads, their ends, and the end of the process. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { Reader } from '../lib/index.js'
import { HERE, PACKAGE, claimedSeat, directoryFor, holdLock, runNode } from '../test-support/seat.mjs'

test('c_064_fifty_workers_write_and_exit_and_the_process_ends_with_success', async (t) => {
  const directory = directoryFor(t)
  const { code, signal, stdout, stderr } = await runNode([join(HERE, 'fifty_workers.mjs'), directory])
  assert.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' })
  assert.deepEqual(JSON.parse(stdout), { exited: 50, forked: 0 })
  const agents = readdirSync(directory)
  assert.equal(agents.length, 50)
  for (const agent of agents) {
    const state = await new Reader(join(directory, agent)).read()
    assert.deepEqual([state.state, state.transitionSequence], ['idle', 2n])
    assert.equal((await new Reader(join(directory, agent)).read({ probe: 'lease' })).reason, 'session-dead')
  }
})

test('each_worker_has_its_own_objects_and_the_main_thread_too', async (t) => {
  const directory = directoryFor(t)
  const workers = [1, 2, 3].map((number) => new Worker(join(HERE, 'one_worker.mjs'), { workerData: { directory, number } }))
  const { writer } = claimedSeat(t)
  assert.equal((await writer.observe({ state: 'active' })).outcome, 'landed')
  assert.deepEqual(await Promise.all(workers.map((worker) => once(worker, 'exit'))), [[0], [0], [0]])
  assert.equal((await writer.observe({ state: 'idle' })).outcome, 'landed')
})

test('a_worker_is_terminated_while_its_calls_wait', async (t) => {
  const { directory, identity, writer } = claimedSeat(t)
  const held = await holdLock(t, directory, identity)
  const source = `
    const { parentPort, workerData: { file, directory, identity } } = require('node:worker_threads')
    const { Writer, claim, observeHook } = require(file)
    for (let call = 0; call < 20; call += 1) void new Writer(directory, identity, { lockWaitMs: 60_000 }).observe({ state: 'active' })
    void claim(directory, { agent: 'a', harness: 'c', token: 't' }, { lockWaitMs: 60_000 })
    void observeHook('claude', '{"hook_event_name":"Stop"}', { session: { ...identity, agentDir: directory } })
    setTimeout(() => parentPort.postMessage('waiting'), 50)
  `
  for (let turn = 0; turn < 5; turn += 1) {
    const workerData = { file: join(PACKAGE, 'lib', 'index.js'), directory, identity }
    const worker = new Worker(source, { eval: true, workerData })
    await once(worker, 'message')
    const started = performance.now()
    assert.equal(await worker.terminate(), 1)
    assert.ok(performance.now() - started < 30_000, 'it does not wait for the lock')
  }
  await held.release()
  assert.equal((await writer.observe({ state: 'idle' })).outcome, 'landed')
  assert.equal((await new Reader(directory).read()).transitionSequence, 1n, 'nothing of theirs came later')
})

test('the_process_exits_while_its_calls_wait', async (t) => {
  const { directory, identity } = claimedSeat(t)
  const held = await holdLock(t, directory, identity)
  const script = `
    const { Writer } = require('./lib/index.js')
    const [directory, token, sequence] = process.argv.slice(1)
    const identity = { agent: 'a', harness: 'c', token, sequence: BigInt(sequence), ptySession: 'p' }
    for (let call = 0; call < 20; call += 1) void new Writer(directory, identity, { lockWaitMs: 60_000 }).observe({ state: 'active' })
    setTimeout(() => process.exit(7), 50)
  `
  const args = ['-e', script, directory, identity.token, String(identity.sequence)]
  const started = performance.now()
  const { code, stderr } = await runNode(args, { cwd: PACKAGE })
  assert.deepEqual([code, stderr], [7, ''])
  assert.ok(performance.now() - started < 30_000, 'it does not wait for the lock')
  await held.release()
})

test('a_call_under_way_keeps_the_process_until_it_has_answered', async (t) => {
  const { directory, identity } = claimedSeat(t)
  const held = await holdLock(t, directory, identity)
  const script = `
    const { Writer } = require('./lib/index.js')
    const [directory, token, sequence] = process.argv.slice(1)
    const identity = { agent: 'a', harness: 'c', token, sequence: BigInt(sequence), ptySession: 'p' }
    new Writer(directory, identity).observe({ state: 'active' }).then((report) => console.log(report.outcome))
  `
  const args = ['-e', script, directory, identity.token, String(identity.sequence)]
  const run = runNode(args, { cwd: PACKAGE })
  setTimeout(() => held.release(), 400)
  assert.equal((await run).stdout, 'landed\n')
})
