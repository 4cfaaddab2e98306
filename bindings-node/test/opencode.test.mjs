/** The plugin for OpenCode: recorded events through it, and that it is never felt. */

import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { GallivantPlugin } from 'gallivant/opencode'
import { Reader, SESSION_VARIABLES, Session } from '../lib/index.js'
import { PACKAGE, PROJECT, directoryFor, holdLock, runNode } from '../test-support/seat.mjs'

const EVENTS = join(PROJECT, 'tests', 'vectors', 'harness-events')
const start = { agent: 'host.worker', harness: 'opencode', ptySession: 'worker' }
const busy = { type: 'session.status', properties: { sessionID: 's', status: { type: 'busy' } } }
const idle = { type: 'session.idle', properties: { sessionID: 's' } }

/** A session whose variables this process has until the test ends. */
function sessionFor(t) {
  const session = Session.startSync(directoryFor(t), start)
  setVariables(t, session.toEnv())
  t.after(() => session.close())
  return session
}

function setVariables(t, variables) {
  Object.assign(process.env, variables)
  t.after(() => SESSION_VARIABLES.forEach((name) => delete process.env[name]))
}

/** What OpenCode would call with the payloads of a recorded run, in order: the plugin's function and its arguments. */
function calls(run) {
  return readdirSync(join(EVENTS, run)).sort().map((file) => {
    const name = file.split('.').slice(1, -1).join('.')
    const payload = JSON.parse(readFileSync(join(EVENTS, run, file), 'utf8'))
    return name.startsWith('event.') ? ['event', payload] : [name, payload.input, payload.output]
  })
}

/** The states that are seen one after the other while OpenCode calls the plugin. */
async function seen(hooks, directory, run) {
  const reader = new Reader(directory)
  const states = []
  for (const [name, ...parts] of calls(run)) {
    await hooks[name]?.(...parts)
    const { state, ask } = reader.readSync()
    const told = ask === 'permission' || ask === 'question' ? `${state} ${ask}` : state
    if (told !== states.at(-1)) states.push(told)
  }
  return states
}

test('hs_111_recorded_runs_through_the_plugin', async (t) => {
  const turn = ['ready', 'active', 'idle']
  const runs = {
    'opencode.headless': ['unknown', ...turn],
    'opencode.permission': ['ready', 'active', 'active permission', 'active', 'idle'],
    'opencode.permission-rejected': ['ready', 'active', 'active permission', 'active', 'idle'],
    'opencode.question': ['ready', 'active', 'active question', 'active', 'idle'],
    'opencode.interrupted-compacted': ['ready', 'active', 'active permission', 'active', 'idle', 'active', 'idle'],
    'opencode.error': turn,
    'opencode.retry': ['ready', 'active'],
  }
  for (const [run, states] of Object.entries(runs)) {
    const { writer } = sessionFor(t)
    const hooks = await GallivantPlugin({ directory: '/elsewhere' })
    assert.deepEqual(await seen(hooks, writer.directory, run), states, run)
    assert.ok(!existsSync(join(writer.directory, '.harness-state.log')), run)
  }
})

test('hs_111_a_child_session_never_writes_the_turn', async (t) => {
  const { writer } = sessionFor(t)
  const hooks = await GallivantPlugin()
  assert.deepEqual(await seen(hooks, writer.directory, 'opencode.subagent'), ['ready', 'active', 'idle'])
  // One that this process has not seen created is known by its next update.
  await hooks.event({ event: { type: 'session.updated', properties: { sessionID: 'c', info: { id: 'c', parentID: 's' } } } })
  await hooks.event({ event: { ...busy, properties: { ...busy.properties, sessionID: 'c' } } })
  const reader = new Reader(writer.directory)
  const turn = () => { const { state, extension: { children } } = reader.snapshotSync().record; return [state, children] }
  assert.deepEqual(turn(), ['idle', ['c']])
  const { state, reason } = reader.readSync()
  assert.deepEqual([state, reason], ['active', 'children'], 'while it runs the turn is not over for a reader (HS-99)')
  await hooks.event({ event: busy })
  await hooks.event({ event: { ...idle, properties: { sessionID: 'c' } } })
  assert.deepEqual(turn(), ['active', []])
})

test('hs_115_an_event_is_on_disk_when_the_handler_has_returned', async (t) => {
  const { writer } = sessionFor(t)
  const hooks = await GallivantPlugin()
  const reader = new Reader(writer.directory)
  const handled = hooks.event({ event: busy })
  assert.equal(reader.readSync().state, 'active', 'before OpenCode gets a turn to exit')
  await handled
})

test('hs_112_without_a_session_in_the_environment_nothing_is_registered', async (t) => {
  assert.deepEqual(await GallivantPlugin(), {})
  const session = Session.startSync(directoryFor(t), start)
  t.after(() => session.close())
  const whole = session.toEnv()
  for (const missing of ['GALLIVANT_AGENT_DIR', 'GALLIVANT_AGENT', 'GALLIVANT_HARNESS', 'GALLIVANT_SESSION_TOKEN']) {
    await t.test(missing, async (inner) => {
      const { [missing]: _, ...rest } = whole
      setVariables(inner, rest)
      assert.deepEqual(await GallivantPlugin(), {})
    })
  }
  await t.test('no number', async (inner) => {
    setVariables(inner, { ...whole, GALLIVANT_SESSION_SEQ: 'many' })
    assert.deepEqual(await GallivantPlugin(), {})
  })
})

test('hs_115_whatever_comes_nothing_is_thrown', async (t) => {
  const { writer } = sessionFor(t)
  const hooks = await GallivantPlugin()
  const circular = { ...busy }
  circular.properties = { sessionID: 's', status: circular }
  const hostile = { get type() { throw new Error('no') } }
  for (const input of [
    undefined, null, 1, {}, { event: null }, { event: 'session.idle' }, { event: {} }, { event: { type: 1 } },
    { event: { type: 'session.created', properties: null } }, { event: { type: 'session.created', properties: { info: 1 } } },
    { event: { type: 'future.event' } }, { event: circular }, { event: hostile },
    { event: { ...busy, properties: { status: { type: 'busy', next: 1n } } } },
  ]) {
    assert.equal(await hooks.event(input), undefined)
  }
  rmSync(writer.directory, { recursive: true })
  writeFileSync(writer.directory, 'no directory')
  assert.equal(await hooks.event({ event: busy }), undefined)
})

test('hs_115_a_held_lock_delays_no_longer_than_a_hook_and_is_in_the_log', async (t) => {
  const session = sessionFor(t)
  const { agentDir, ...identity } = session.environment()
  const hooks = await GallivantPlugin()
  const held = await holdLock(t, agentDir, identity)
  const started = performance.now()
  await hooks.event({ event: busy })
  const taken = performance.now() - started
  assert.ok(taken >= 200 && taken < 9000, `it took ${taken} ms`)
  await held.release()
  assert.match(readFileSync(join(agentDir, '.harness-state.log'), 'utf8'), /opencode session\.status failed/)
  await hooks.event({ event: busy })
  assert.equal(new Reader(agentDir).readSync().state, 'active')
})

test('hs_115_nothing_is_printed', async (t) => {
  const session = Session.startSync(directoryFor(t), start)
  t.after(() => session.close())
  const script = `
    const { GallivantPlugin } = require('gallivant/opencode')
    GallivantPlugin().then(async ({ event }) => {
      await event?.({ event: { type: 'session.created', properties: {} } })
      await event?.(null)
    })
  `
  for (const variables of [{}, session.toEnv(), { ...session.toEnv(), GALLIVANT_SESSION_SEQ: 'many' }]) {
    const env = { PATH: process.env.PATH, ...variables }
    assert.deepEqual(await runNode(['-e', script], { cwd: PACKAGE, env }), { code: 0, signal: null, stdout: '', stderr: '' })
  }
  assert.equal(new Reader(session.writer.directory).readSync().state, 'ready')
})

test('the_module_that_opencode_loads_exports_one_function', async () => {
  const require = createRequire(import.meta.url)
  const esm = await import('gallivant/opencode')
  assert.deepEqual(Object.keys(esm), ['GallivantPlugin'])
  assert.equal(esm.GallivantPlugin, GallivantPlugin)
  assert.deepEqual(require('gallivant/opencode'), { GallivantPlugin })
  const types = readFileSync(join(PACKAGE, 'lib', 'opencode.d.ts'), 'utf8')
  assert.deepEqual([...types.matchAll(/^export function (\w+)/gm)].map(([, name]) => name), ['GallivantPlugin'])
})
