/** Hooks: events of real harnesses, from payload to record. */

import assert from 'node:assert/strict'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { GallivantError, Reader, Session, SessionEnvironment, observeHook, observeHookSync } from '../lib/index.js'
import { PROJECT, directoryFor, holdLock } from '../test-support/seat.mjs'

const EVENTS = join(PROJECT, 'tests', 'vectors', 'harness-events')
const start = { agent: 'host.worker', harness: 'claude', ptySession: 'worker' }

/** The events of a recorded run, in order of arrival: their names and their bytes. */
function recorded(run) {
  return readdirSync(join(EVENTS, run)).sort().map((file) => ({
    name: file.split('.').slice(1, -1).join('.'), payload: readFileSync(join(EVENTS, run, file)),
  }))
}

test('hs_110_a_recorded_run_of_claude_code_with_a_permission', async (t) => {
  const session = await Session.start(directoryFor(t), start)
  const reader = new Reader(session.writer.directory)
  const seen = []
  for (const { name, payload } of recorded('claude-code.interactive-permission-clear')) {
    const report = await observeHook('claude', payload, { session })
    assert.equal(report.event, name)
    assert.ok(report.error === null, `${name}: ${report.error}`)
    const { state, blockedOn, ask } = await reader.read()
    seen.push([name, state, blockedOn, ask].join(' '))
    if (name === 'SessionEnd') break
  }
  assert.deepEqual(seen.slice(0, 9), [
    'SessionStart ready none none',
    'UserPromptSubmit active none none',
    'PreToolUse active none none',
    'PermissionRequest active human permission',
    'Notification active human permission',
    'PostToolUse active none none',
    'PostToolBatch active none none',
    'MessageDisplay active none none',
    'Stop idle none none',
  ])
  assert.equal(seen[9], 'Notification idle none none', 'an idle reminder is no ask')
  session.close()
})

test('hs_111_a_recorded_run_of_codex_on_this_thread', async (t) => {
  const session = Session.startSync(directoryFor(t), { ...start, harness: 'codex' })
  const reader = new Reader(session.writer.directory)
  const seen = []
  for (const { name, payload } of recorded('codex.headless')) {
    const report = observeHookSync('codex', payload, { session: session.environment() })
    assert.equal(report.error, null, name)
    seen.push(`${name} ${report.word} ${reader.readSync().state}`)
  }
  assert.deepEqual(seen.slice(0, 5), [
    'SessionStart landed ready', 'UserPromptSubmit landed active', 'PreToolUse coalesced active',
    'PostToolUse coalesced active', 'Stop landed idle',
  ])
  assert.equal(reader.readSync().state, 'ended')
  session.close()
})

test('events_that_are_handed_over_at_once_are_observed_in_order', async (t) => {
  const events = recorded('claude-code.interactive-permission-clear').slice(0, 9)
  const session = Session.startSync(directoryFor(t), start)
  const oneByOne = events.map(({ payload }) => observeHookSync('claude', payload, { session }).word)
  session.close()
  for (let turn = 0; turn < 10; turn += 1) {
    const another = Session.startSync(directoryFor(t), start)
    const reports = await Promise.all(events.map(({ payload }) => observeHook('claude', payload, { session: another })))
    assert.deepEqual(reports.map((report) => report.event), events.map((event) => event.name))
    assert.deepEqual(reports.map((report) => report.word), oneByOne)
    another.close()
  }
})

test('hs_112_identity_is_in_the_session_or_the_environment_and_nowhere_else', async (t) => {
  const session = await Session.start(directoryFor(t), start)
  const { directory } = session.writer
  const prompt = JSON.stringify({ hook_event_name: 'UserPromptSubmit', cwd: '/elsewhere', session_id: 'x' })
  const missing = {
    event: 'UserPromptSubmit', word: 'identity-missing', kind: 'observed',
    report: { outcome: 'refused', refusal: 'identity-missing', floorFailure: null }, error: null, lossy: false,
  }
  assert.deepEqual(await observeHook('claude', prompt, { session: null }), missing)
  assert.deepEqual(await observeHook('claude', prompt, { environ: {} }), missing)
  assert.deepEqual(observeHookSync('claude', prompt), missing, 'this process has no session')
  assert.equal((await new Reader(directory).read()).reason, 'claimed')
  const landed = await observeHook('claude', prompt, { environ: { ...session.toEnv() } })
  assert.deepEqual([landed.word, landed.report.outcome], ['landed', 'landed'])
  Object.assign(process.env, session.toEnv())
  t.after(() => Object.keys(session.toEnv()).forEach((name) => delete process.env[name]))
  assert.equal(observeHookSync('claude', prompt).word, 'coalesced')
  t.after(() => session.close())
})

test('c_016_a_byte_order_mark_and_any_kind_of_bytes', async (t) => {
  const session = await Session.start(directoryFor(t), start)
  const payload = readFileSync(join(PROJECT, 'tests', 'vectors', 'cases', 'C-016.bom.hook.json'))
  const first = await observeHook('claude', payload, { session })
  assert.equal(first.error, null)
  const copy = Uint8Array.from(payload)
  for (const bytes of [copy, copy.buffer, new DataView(copy.buffer), payload.toString('utf8')]) {
    assert.equal(observeHookSync('claude', bytes, { session }).event, first.event)
  }
  assert.throws(() => observeHookSync('claude', [1], { session }), { code: 'GALLIVANT_INPUT', message: /payload/ })
  session.close()
})

test('hs_115_what_a_hook_cannot_do_is_in_the_report_and_in_the_log', async (t) => {
  const session = await Session.start(directoryFor(t), start)
  const { directory } = session.writer
  const report = await observeHook('claude', 'no json', { session })
  assert.equal(report.kind, 'failed')
  assert.ok(report.error instanceof GallivantError)
  assert.deepEqual([report.word, report.report], ['HARNESS_STATE_INPUT', null])
  const log = join(directory, '.harness-state.log')
  assert.match(readFileSync(log, 'utf8'), /claude - failed/)
  assert.equal(statSync(log).mode & 0o777, 0o600)
  assert.throws(() => observeHookSync('vim', '{}', { session }), { code: 'HARNESS_STATE_INPUT', reason: 'unknown-harness' })
  await assert.rejects(observeHook('vim', '{}', { session }), { code: 'HARNESS_STATE_INPUT' })
  session.close()
})

test('hs_115_variables_that_make_no_sense_are_told_in_the_report', async (t) => {
  const session = Session.startSync(directoryFor(t), start)
  const environ = { ...session.toEnv(), GALLIVANT_SESSION_SEQ: 'many' }
  const prompt = JSON.stringify({ hook_event_name: 'UserPromptSubmit' })
  for (const report of [await observeHook('claude', prompt, { environ }), observeHookSync('claude', prompt, { environ })]) {
    assert.deepEqual([report.kind, report.word, report.error.reason], ['failed', 'HARNESS_STATE_INPUT', 'environment'])
  }
  session.close()
})

test('c_025_a_hook_waits_for_a_quarter_of_a_second_whatever_the_options_say', async (t) => {
  const session = await Session.start(directoryFor(t), start)
  const environment = session.environment()
  const held = await holdLock(t, environment.agentDir, environment)
  const prompt = JSON.stringify({ hook_event_name: 'UserPromptSubmit' })
  for (const call of [
    () => observeHook('claude', prompt, { session }),
    async () => observeHookSync('claude', prompt, { session: new SessionEnvironment({ ...environment }) }),
    // Whoever waits for his turn waits no longer than that either.
    () => Promise.all(Array.from({ length: 40 }, () => observeHook('claude', prompt, { session }))).then(([one]) => one),
  ]) {
    const started = performance.now()
    const report = await call()
    assert.equal(report.word, 'HARNESS_STATE_BUSY')
    const taken = performance.now() - started
    assert.ok(taken >= 200 && taken < 9000, `it took ${taken} ms`)
  }
  await held.release()
  assert.equal((await observeHook('claude', prompt, { session })).word, 'landed')
  session.close()
})
