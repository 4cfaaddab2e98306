/** Sessions: lease, environment, heartbeat, end, disposal. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { SESSION_VARIABLES, Reader, Session, SessionEnvironment, Writer } from '../lib/index.js'
import { TestHost } from '../lib/testing.js'
import { PACKAGE, directoryFor, runNode, startScript } from '../test-support/seat.mjs'

const start = { agent: 'host.worker', harness: 'claude', ptySession: 'worker' }

test('a_session_claims_leases_attaches_and_ends', async (t) => {
  const directory = directoryFor(t)
  const reader = new Reader(directory)
  const session = await Session.start(directory, start)
  assert.equal(session.claim.sequence, 1n)
  assert.equal(session.holdsLease, true)
  assert.equal(session.harnessProcess, null)
  const token = session.writer.identity.token
  assert.equal(readFileSync(join(directory, '.harness-state.lease'), 'utf8'), token)
  const attached = await session.attach(process.pid)
  assert.equal(attached.pid, process.pid)
  assert.deepEqual(session.harnessProcess, attached)
  assert.equal((await reader.read({ probe: 'lease' })).state, 'ready')
  await session.writer.observe({ state: 'active' })
  const report = await session.end('exit 0')
  assert.equal(report.outcome, 'landed')
  assert.equal(session.holdsLease, false)
  const state = await reader.read({ probe: 'lease' })
  assert.deepEqual([state.state, state.exit], ['ended', 'exit 0'])
  session.close()
})

test('every_call_of_a_session_has_a_twin_on_this_thread', (t) => {
  const directory = directoryFor(t)
  const session = Session.startSync(directory, { ...start, token: 'tok-given' })
  assert.equal(session.writer.identity.token, 'tok-given')
  assert.deepEqual(session.attachSync(process.pid), session.harnessProcess)
  const tick = session.heartbeatIfDueSync()
  assert.equal(tick.outcome, 'not-due')
  assert.equal(typeof tick.dueAtMs, 'bigint')
  assert.equal(session.endSync().outcome, 'landed')
  assert.deepEqual(session.heartbeatIfDueSync().outcome, 'not-due')
  session.close()
})

test('hs_51_a_session_s_heartbeat_is_made_when_it_is_due', async (t) => {
  const machine = new TestHost({ wallMs: 1_000_000n })
  const directory = directoryFor(t)
  const session = Session.startSync(directory, start, { host: machine.host })
  session.writer.observeSync({ state: 'active' })
  const tick = await session.heartbeatIfDue()
  assert.equal(tick.outcome, 'not-due')
  machine.setWallMs(tick.dueAtMs + 1n)
  assert.deepEqual(await session.heartbeatIfDue(), { outcome: 'renewed', dueAtMs: null, skip: null })
  Session.startSync(directory, start, { host: machine.host }).endSync('exit 0')
  machine.advanceMs(301_000)
  assert.deepEqual(await session.heartbeatIfDue(), { outcome: 'skipped', dueAtMs: null, skip: 'superseded' })
  assert.equal(session.holdsLease, false, 'a superseded session gives its lease up')
  session.close()
})

test('a_dead_harness_is_told_and_not_renewed', async (t) => {
  const machine = new TestHost({ wallMs: 1_000_000n })
  const session = Session.startSync(directoryFor(t), start, { host: machine.host })
  const { child, exit } = await startScript(t, 'live_session.mjs', [directoryFor(t)])
  await session.attach(child.pid)
  child.kill('SIGKILL')
  await exit
  machine.advanceMs(301_000)
  assert.deepEqual(await session.heartbeatIfDue(), { outcome: 'harness-gone', dueAtMs: null, skip: null })
  await assert.rejects(session.attach(child.pid), { code: 'HARNESS_STATE_INPUT', reason: 'no-such-process' })
  assert.throws(() => session.attachSync(-1), { code: 'GALLIVANT_INPUT', message: /pid/ })
  session.close()
})

test('hs_67_a_session_is_handed_on_through_the_environment', async (t) => {
  const directory = directoryFor(t)
  const session = await Session.start(directory, start)
  const environment = session.environment()
  assert.ok(environment instanceof SessionEnvironment)
  const variables = session.toEnv()
  assert.deepEqual(Object.keys(variables), SESSION_VARIABLES)
  assert.deepEqual(variables, {
    GALLIVANT_AGENT_DIR: directory, GALLIVANT_AGENT: 'host.worker', GALLIVANT_HARNESS: 'claude',
    GALLIVANT_SESSION_TOKEN: session.writer.identity.token, GALLIVANT_SESSION_SEQ: '1',
    GALLIVANT_PTY_SESSION: 'worker',
  })
  const found = SessionEnvironment.fromEnv({ ...process.env, ...variables })
  assert.deepEqual(found, environment)
  const sibling = found.writer()
  assert.ok(sibling instanceof Writer)
  assert.equal((await sibling.observe({ state: 'active' })).outcome, 'landed')
  assert.equal(sibling.sequence, 1n)
  session.close()
})

test('hs_67_variables_that_name_no_session_are_null_and_a_bad_number_is_an_error', () => {
  const parts = { agentDir: '/a', agent: 'a', harness: 'c', token: 't', sequence: 2n ** 64n - 1n }
  const environment = new SessionEnvironment(parts)
  assert.deepEqual({ ...environment }, { ...parts, ptySession: null })
  const variables = environment.toEnv()
  assert.equal(variables.GALLIVANT_SESSION_SEQ, '18446744073709551615')
  assert.equal('GALLIVANT_PTY_SESSION' in variables, false)
  assert.equal(SessionEnvironment.fromEnv(variables).sequence, 2n ** 64n - 1n)
  assert.equal(SessionEnvironment.fromEnv({ ...variables, GALLIVANT_PTY_SESSION: '' }).ptySession, '')
  assert.equal(SessionEnvironment.fromEnv({}), null)
  assert.equal(SessionEnvironment.fromEnv({ ...variables, GALLIVANT_SESSION_TOKEN: '' }), null)
  for (const bad of ['18446744073709551616', '-1', '', '1 ']) {
    assert.throws(() => SessionEnvironment.fromEnv({ ...variables, GALLIVANT_SESSION_SEQ: bad }),
      { code: 'HARNESS_STATE_INPUT', reason: 'environment' })
  }
  assert.throws(() => new SessionEnvironment({ ...parts, agent: undefined }), { code: 'GALLIVANT_INPUT' })
})

test('closing_releases_the_lease_and_writes_nothing', async (t) => {
  const directory = directoryFor(t)
  const reader = new Reader(directory)
  const session = Session.startSync(directory, start)
  session.writer.observeSync({ state: 'active' })
  const before = readFileSync(join(directory, 'harness-state'))
  const { writer } = session
  session.close()
  session.close()
  assert.equal(session.closed, true)
  assert.equal(session.holdsLease, false)
  assert.deepEqual(readFileSync(join(directory, 'harness-state')), before)
  assert.equal((await reader.read({ probe: 'lease' })).reason, 'session-dead')
  const closed = { code: 'GALLIVANT_INPUT', reason: 'closed' }
  await assert.rejects(session.end('exit 0'), closed)
  await assert.rejects(writer.observe({ state: 'idle' }), closed)
  assert.throws(() => session.heartbeatIfDueSync(), closed)
  assert.throws(() => session.environment(), closed)
  assert.equal(session.claim.sequence, 1n)
})

test('disposal_closes_at_once_or_after_the_calls_under_way', { skip: Symbol.dispose === undefined }, async (t) => {
  const [one, two] = [directoryFor(t), directoryFor(t)]
  Session.startSync(one, start)[Symbol.dispose]()
  assert.ok(Session.startSync(one, start).holdsLease)
  const session = await Session.start(two, start)
  const writes = Array.from({ length: 10 }, (_, index) => session.writer.observe({ state: 'active', reason: `${index}` }))
  await session[Symbol.asyncDispose]()
  assert.equal(session.closed, true)
  assert.ok((await Promise.all(writes)).every((report) => report.outcome === 'landed'))
  assert.equal((await new Reader(two).read({ probe: 'lease' })).reason, 'session-dead')
})

test('sessions_do_without_the_symbols_of_disposal', async (t) => {
  const script = `
    const { for: known, iterator, asyncIterator } = Symbol
    const real = Symbol
    globalThis.Symbol = Object.assign((text) => real(text), { for: known, iterator, asyncIterator })
    const { Session } = require('./lib/index.js')
    const session = Session.startSync(process.argv[1], { agent: 'a', harness: 'c' })
    session.close()
    console.log(Object.getOwnPropertySymbols(Session.prototype).map(String).join(), session.closed)
  `
  const { stdout, code } = await runNode(['-e', script, directoryFor(t)], { cwd: PACKAGE })
  assert.deepEqual([code, stdout], [0, 'Symbol(nodejs.util.inspect.custom) true\n'])
})

test('garbage_collection_ends_no_session', async (t) => {
  const directory = directoryFor(t)
  const script = `
    const { Reader, Session } = require('./lib/index.js')
    const directory = process.argv[1]
    void (async () => {
      await Session.start(directory, { agent: 'a', harness: 'c', ptySession: 'p' })
        .then((session) => session.writer.observe({ state: 'active' }))
      for (let turn = 0; turn < 5; turn += 1) { gc(); await new Promise(setImmediate) }
      console.log((await new Reader(directory).read({ probe: 'lease' })).state)
    })()
  `
  const { stdout, code } = await runNode(['--expose-gc', '-e', script, directory], { cwd: PACKAGE })
  assert.deepEqual([code, stdout], [0, 'active\n'])
})

test('hs_94_death_and_the_end_of_a_worker_release_the_lease', async (t) => {
  const [one, two] = [directoryFor(t), directoryFor(t)]
  const { child, exit } = await startScript(t, 'live_session.mjs', [one])
  assert.equal((await new Reader(one).read({ probe: 'lease' })).state, 'active')
  child.kill('SIGKILL')
  await exit
  assert.equal((await new Reader(one).read({ probe: 'lease' })).reason, 'session-dead')
  const next = await Session.start(one, start)
  assert.deepEqual([next.claim.sequence, next.holdsLease], [2n, true])
  next.close()
  const worker = new Worker(new URL('../test-support/one_worker.mjs', import.meta.url), {
    workerData: { directory: two, number: 1 },
  })
  assert.deepEqual(await once(worker, 'exit'), [0])
  assert.equal((await new Reader(join(two, 'agent-1')).read({ probe: 'lease' })).reason, 'session-dead')
})

test('a_session_is_begun_by_start_alone', () => {
  assert.throws(() => new Session(), TypeError)
  assert.throws(() => Session.startSync('/nowhere', { agent: 'a' }), { code: 'GALLIVANT_INPUT', message: /harness/ })
})
