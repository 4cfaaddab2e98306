/** What a person sees of objects and errors: what helps, and never the token. */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Fleet, GallivantError, Reader, Session, SessionEnvironment, Writer, mintToken } from '../lib/index.js'
import { TestHost } from '../lib/testing.js'
import { PACKAGE, claimedOn, directoryFor, runNode } from '../test-support/seat.mjs'

const TOKEN = 'tok-that-nobody-may-see'
const WHO = "agent: 'host.worker', harness: 'claude', ptySession: 'worker'"

/** In one line, as `console.log` shows it otherwise. */
const shown = (value) => inspect(value, { breakLength: Infinity })

test('a_session_and_its_writer_show_whose_they_are_and_how_they_stand', (t) => {
  const directory = directoryFor(t)
  const start = { agent: 'host.worker', harness: 'claude', ptySession: 'worker', token: TOKEN }
  const session = Session.startSync(directory, start)
  const head = `{ directory: '${directory}', ${WHO}, sequence: 1n`
  assert.equal(shown(session.writer), `Writer ${head} }`)
  session.attachSync(process.pid)
  const standing = `holdsLease: true, harnessPid: ${process.pid}, closed: false`
  assert.equal(shown(session), `Session ${head}, ${standing} }`)
  session.close()
  assert.equal(shown(session), `Session ${head}, holdsLease: false, harnessPid: null, closed: true }`)
  assert.equal(shown(session.writer), `Writer { directory: '${directory}', ${WHO}, closed: true }`)
})

test('a_reader_a_snapshot_an_environment_and_a_machine_show_what_they_hold', (t) => {
  const directory = directoryFor(t)
  const { writer } = claimedOn(directory, undefined, TOKEN)
  writer.observeSync({ state: 'active', reason: 'a reason' })
  const reader = new Reader(directory)
  assert.equal(shown(reader), `Reader { path: '${directory}' }`)
  assert.equal(shown(new Fleet(directory)), `Fleet { root: '${directory}' }`)
  const snapshot = inspect(reader.snapshotSync())
  assert.match(snapshot, /^Snapshot {\n {2}takenAtMs: \d+n,\n {2}record: {\n {4}schema: 'st2\.harness-state\.v1',\n/)
  assert.match(snapshot, /\n {4}reason: 'a reason',\n[^]*\n {4}seq: 1n,\n[^]*\n {2}damage: null\n}$/)
  writeFileSync(join(directory, 'harness-state'), '')
  assert.match(shown(reader.snapshotSync()), /^Snapshot { takenAtMs: \d+n, record: null, damage: '.+' }$/)
  const environment = new SessionEnvironment({ agentDir: '/a', agent: 'w', harness: 'claude', token: TOKEN, sequence: 3 })
  assert.equal(shown(environment),
    "SessionEnvironment { agentDir: '/a', agent: 'w', harness: 'claude', ptySession: null, sequence: 3n }")
  assert.equal(shown(new TestHost()), 'TestHost { operations: 0 }')
})

test('a_guard_shows_whether_it_still_holds_the_lock', async (t) => {
  const guard = claimedOn(directoryFor(t)).writer.lockCurrentOwnershipSync()
  assert.equal(shown(guard), 'OwnershipGuard { sequence: 1n, released: false }')
  guard.release()
  assert.equal(shown(guard), 'OwnershipGuard { released: true }')
})

test('no_object_shows_the_token_at_any_depth', async (t) => {
  const directory = directoryFor(t)
  const session = Session.startSync(directory, { agent: 'a', harness: 'c', ptySession: 'p', token: TOKEN })
  session.writer.observeSync({ state: 'active' })
  const snapshot = new Reader(directory).snapshotSync()
  const guard = session.writer.lockCurrentOwnershipSync()
  const all = { session, writer: session.writer, snapshot, environment: session.environment(), claim: session.claim, guard }
  guard.release()
  const thorough = { depth: null, showHidden: true, getters: true, showProxy: true }
  for (const options of [{}, thorough, { compact: false, sorted: true }]) {
    for (const [name, value] of Object.entries(all)) {
      assert.doesNotMatch(inspect(value, options), new RegExp(TOKEN), name)
      assert.ok(inspect(value, options).length > 20, name)
    }
  }
  assert.equal(inspect({ in: { an: { object: session } } }, { depth: 1, breakLength: Infinity }), '{ in: { an: [Object] } }')
  assert.match(inspect([[[session]]]), /\[Session\]/)
  session.close()
})

test('showing_what_only_looks_like_an_object_of_ours_does_not_throw', (t) => {
  const writer = new Writer(directoryFor(t), { agent: 'a', harness: 'c', token: mintToken() })
  for (const odd of [new Proxy(writer, {}), Object.create(writer)]) assert.equal(inspect(odd), 'Writer {}')
  assert.doesNotThrow(() => inspect(Writer.prototype))
})

/** What an error says of itself, as a program of its own prints it. */
async function printed(script) {
  const program = `const { GallivantError, Reader, Writer } = require('./lib/index.js')\n${script}`
  const { stderr } = await runNode(['-e', program], { cwd: PACKAGE })
  return stderr
}

/** How often a text stands in another. */
const times = (text, part) => text.split(part).length - 1

test('an_error_that_is_printed_or_that_nobody_catches_says_code_reason_and_remedy_once', async (t) => {
  const error = (() => { try { return new Reader('') } catch (thrown) { return thrown } })()
  assert.ok(error instanceof GallivantError)
  for (const script of [
    "try { new Reader('') } catch (error) { console.error(error) }",
    "new Reader('')",
    "Promise.resolve().then(() => new Reader(''))",
  ]) {
    const said = await printed(script)
    assert.match(said, /^GallivantError: the directory's path cannot be used, path=``: /m, said)
    for (const part of [error.code, `reason: 'path'`, error.remedy, error.message]) assert.equal(times(said, part), 1, said)
    assert.doesNotMatch(said, /null/, 'what tells nothing is not shown')
  }
})

test('what_an_error_has_not_is_null_and_not_shown', async () => {
  const script = "try { new Writer('x', { agent: 'a', harness: 'c', token: '' }) } catch (error) { console.error(error) }"
  const said = await printed(script)
  assert.match(said, / {\n {2}code: 'HARNESS_STATE_EMPTY_TOKEN',\n {2}kind: 'input',\n {2}remedy: [^\n]+\n}\n$/)
  assert.throws(() => new Writer('x', { agent: 'a', harness: 'c', token: '' }), (error) => (
    error.reason === null && error.osError === null && error.runId === null && error.operationId === null &&
    error.name === 'GallivantError'
  ))
})

test('an_error_names_the_run_and_the_operation_that_it_is_about', () => {
  const nothing = { reason: null, osError: null, file: null, resource: null, runId: null, operationId: null }
  const about = (names) => new GallivantError({
    ...nothing, code: 'EXECUTION_UNRESOLVED', kind: 'unresolved', remedy: 'look', message: 'told', ...names,
  })
  const both = about({ runId: 'run-1', operationId: 'op-1' })
  assert.deepEqual([both.runId, both.operationId], ['run-1', 'op-1'])
  assert.match(inspect(both), /runId: 'run-1',\n {2}operationId: 'op-1'/)
  const one = about({ operationId: 'op-2' })
  assert.deepEqual([one.runId, one.operationId, Object.hasOwn(one, 'runId')], [null, 'op-2', false])
})
