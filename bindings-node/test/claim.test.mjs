/** Claims, synchronous and asynchronous. */

import assert from 'node:assert/strict'
import { linkSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { GallivantError, claim, claimSync, claimWrapperless, claimWrapperlessSync } from '../lib/index.js'
import { TestHost } from '../lib/testing.js'
import { PACKAGE, claimedOn, directoryFor, holdLock, runNode } from '../test-support/seat.mjs'

const claimant = { agent: 'host.worker', harness: 'claude', token: 'tok-a' }
const wrapperless = { ...claimant, token: 'claude-session-1' }

test('hs_55_each_claim_answers_a_sequence_of_its_own', async (t) => {
  const directory = join(directoryFor(t), 'made', 'with', 'parents')
  const first = await claim(directory, claimant)
  assert.deepEqual(first, {
    sequence: 1n, floorFailure: null, floorDamage: null, contextFailure: null, swept: 0,
  })
  assert.equal(claimSync(pathToFileURL(directory), claimant).sequence, 2n)
  const sequences = await Promise.all(Array.from({ length: 20 }, () => claim(directory, claimant)))
  assert.deepEqual(sequences.map((one) => one.sequence).sort((a, b) => Number(a - b)),
    Array.from({ length: 20 }, (_, index) => BigInt(index + 3)))
})

test('hs_64_a_seat_that_is_not_free_answers_null', async (t) => {
  const directory = directoryFor(t)
  assert.equal((await claimWrapperless(directory, wrapperless)).sequence, 1n)
  assert.equal(claimWrapperlessSync(directory, wrapperless).sequence, 2n)
  claimSync(directory, claimant)
  assert.equal(await claimWrapperless(directory, wrapperless), null)
  assert.equal(claimWrapperlessSync(directory, wrapperless), null)
})

test('hs_65_a_wrapperless_claim_needs_the_prefix', async (t) => {
  const directory = directoryFor(t)
  await assert.rejects(claimWrapperless(directory, claimant), { code: 'HARNESS_STATE_BAD_TOKEN', kind: 'input' })
  const options = { wrapperlessPrefixes: ['tok-'] }
  assert.equal((await claimWrapperless(directory, claimant, options)).sequence, 1n)
})

test('hs_08_the_empty_token_is_refused', async (t) => {
  const directory = directoryFor(t)
  const nobody = { ...claimant, token: '' }
  await assert.rejects(claim(directory, nobody), { code: 'HARNESS_STATE_EMPTY_TOKEN' })
  assert.throws(() => claimWrapperlessSync(directory, nobody), { code: 'HARNESS_STATE_EMPTY_TOKEN' })
})

test('hs_58_no_sequence_is_left_above_the_highest', async (t) => {
  const directory = directoryFor(t)
  writeFileSync(join(directory, '.harness-state.seq'), `${2n ** 64n - 1n}\n`)
  await assert.rejects(claim(directory, claimant), { code: 'HARNESS_STATE_SEQUENCE_EXHAUSTED', kind: 'refused' })
  writeFileSync(join(directory, '.harness-state.seq'), `${2n ** 64n - 2n}\n`)
  assert.equal(claimSync(directory, claimant).sequence, 2n ** 64n - 1n)
})

test('hs_57_a_damaged_floor_is_reported', async (t) => {
  const directory = directoryFor(t)
  writeFileSync(join(directory, '.harness-state.seq'), 'many\n')
  const made = await claim(directory, claimant)
  assert.equal(made.sequence, 1n)
  assert.match(made.floorDamage, /decimal number/)
})

test('hs_62_a_floor_that_cannot_be_raised_is_reported_and_does_not_undo_the_claim', async (t) => {
  const directory = directoryFor(t)
  const faults = [{ on: 'rename', name: '.harness-state.seq', do: 'error', errno: 'EIO' }]
  const machine = new TestHost({ faults })
  const made = await claim(directory, claimant, { host: machine.host })
  assert.equal(made.sequence, 1n)
  assert.ok(made.floorFailure instanceof GallivantError)
  assert.equal(made.floorFailure.code, 'HARNESS_STATE_IO')
  assert.equal(JSON.parse(readFileSync(join(directory, 'harness-state'), 'utf8')).seq, 1)
})

test('hs_21_a_file_system_without_locks_is_refused_with_nothing_written', async (t) => {
  const directory = directoryFor(t)
  const { host } = new TestHost({ faults: [{ on: 'try_lock', repeat: true, do: 'error', errno: 'ENOLCK' }] })
  await assert.rejects(claim(directory, claimant, { host }), { code: 'HARNESS_STATE_LOCKING', kind: 'unavailable' })
  assert.throws(() => readFileSync(join(directory, 'harness-state')), { code: 'ENOENT' })
})

test('hs_63_a_claim_waits_for_the_sibling_s_lock_and_is_not_cut_short', async (t) => {
  const directory = directoryFor(t)
  // A lock of the record's name and kind is held on the sibling's lock file, by way of a link to it.
  const other = directoryFor(t)
  const { identity } = claimedOn(other)
  linkSync(join(other, '.harness-state.lock'), join(directory, '.harness-context.lock'))
  writeFileSync(join(directory, 'harness-context'), '{}\n')
  const held = await holdLock(t, other, identity)
  const waiting = claim(directory, claimant)
  setTimeout(() => held.release(), 200)
  const made = await waiting
  assert.equal(made.contextFailure, null, 'it waited for far longer than a slice')
  assert.throws(() => readFileSync(join(directory, 'harness-context')), { code: 'ENOENT' })
})

test('a_relative_directory_is_the_one_that_it_was_when_the_call_was_begun', async (t) => {
  const [here, elsewhere] = [directoryFor(t), directoryFor(t)]
  const script = `
    const [package, elsewhere] = process.argv.slice(1)
    const { Reader, Session, Writer, claim } = require(package)
    const identity = { agent: 'a', harness: 'c', token: 't', ptySession: 'p' }
    const calls = [claim('one', { agent: 'a', harness: 'c', token: 't' }), Session.start('two', { agent: 'a', harness: 'c' })]
    const writer = new Writer('three', identity)
    const reader = new Reader('three')
    process.chdir(elsewhere)
    void (async () => {
      const [, session] = await Promise.all(calls)
      await writer.observe({ state: 'idle' })
      const { agentDir } = session.environment()
      console.log(JSON.stringify([agentDir, writer.directory, reader.path, (await reader.read()).state]))
      session.close()
    })()
  `
  const { stdout } = await runNode(['-e', script, join(PACKAGE, 'lib', 'index.js'), elsewhere], { cwd: here })
  const three = join(here, 'three')
  assert.deepEqual(JSON.parse(stdout), [join(here, 'two'), three, three, 'idle'])
  assert.deepEqual([readdirSync(here).sort(), readdirSync(elsewhere)], [['one', 'three', 'two'], []])
})

test('an_argument_that_is_no_claimant_is_refused_by_name', async (t) => {
  const directory = directoryFor(t)
  const wrong = { code: 'GALLIVANT_INPUT', kind: 'input', reason: 'argument' }
  await assert.rejects(claim(directory, { ...claimant, token: 7 }), { ...wrong, message: /claimant\.token/ })
  await assert.rejects(claim(directory, null), wrong)
  await assert.rejects(claim('', claimant), { code: 'HARNESS_STATE_INPUT', reason: 'path' })
  await assert.rejects(claim(7, claimant), { ...wrong, message: /directory/ })
  assert.throws(() => claimSync({ href: 'http://example.org/' }, claimant), wrong)
  assert.throws(() => claimSync(directory, { ...claimant, agent: '\ud800' }), { ...wrong, reason: 'unicode' })
  assert.throws(() => claimSync(directory, { ...claimant, toke: 'x' }), { ...wrong, reason: 'unknown-member' })
  assert.throws(() => claimSync(directory, claimant, { staleMS: 1 }), { ...wrong, reason: 'unknown-member' })
  assert.throws(() => claimSync(directory, claimant, { staleMs: -1 }), { ...wrong, reason: 'out-of-range' })
  assert.throws(() => claimSync(directory, claimant, { staleMs: 1.5 }), { ...wrong, message: /staleMs/ })
})
