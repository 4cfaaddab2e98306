/** What our writers add to a record: evidence, children, the harness's process. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GallivantError, Reader, Session, Writer } from '../lib/index.js'
import { claimedSeat, directoryFor } from '../test-support/seat.mjs'

const extensionOf = (directory) => new Reader(directory).snapshotSync().record.extension

test('hs_95_the_extension_of_a_record_is_there_with_its_clocks_and_its_process', async (t) => {
  const directory = directoryFor(t)
  const session = Session.startSync(directory, { agent: 'a', harness: 'c', ptySession: 'p' })
  const process_ = await session.attach(process.pid)
  const extension = extensionOf(directory)
  assert.deepEqual(Object.keys(extension), [
    'bootId', 'bootMs', 'awakeMs', 'host', 'eventMs', 'evidence', 'children', 'late', 'process',
  ])
  const { pid, start, pidNamespace, boot, host } = process_
  assert.deepEqual(extension.process, { pid, start, pidNamespace })
  assert.deepEqual([extension.bootId, extension.host, extension.evidence, extension.late], [boot, host, 'wrapper', 0n])
  assert.ok(extension.bootMs >= extension.awakeMs && extension.awakeMs > 0n)
  assert.throws(() => extension.children.push('x'), TypeError)
  assert.throws(() => { extension.late = 1n }, TypeError)
  session.close()
})

test('hs_95_with_the_extension_switched_off_there_is_none', (t) => {
  const { directory, writer } = claimedSeat(t, { extension: false })
  writer.observeSync({ state: 'active' })
  assert.equal(extensionOf(directory), null)
})

test('hs_98_a_screen_gives_way_to_a_hook_and_says_so', async (t) => {
  const { directory, identity } = claimedSeat(t)
  const by = (evidence) => new Writer(directory, { ...identity, evidence })
  assert.equal((await by('hook').observe({ state: 'active' })).outcome, 'landed')
  assert.equal(extensionOf(directory).evidence, 'hook')
  const screen = await by('screen').observe({ state: 'idle' })
  assert.deepEqual([screen.outcome, screen.refusal], ['refused', 'weaker-evidence'])
  assert.equal(by('wrapper').observeSync({ state: 'idle' }).outcome, 'landed')
  assert.equal(by(null).observeSync({ state: 'active' }).outcome, 'landed')
  assert.equal(extensionOf(directory).evidence, 'wrapper')
  for (const evidence of ['rumour', 'unknown']) {
    assert.throws(() => by(evidence), (error) => error.code === 'HARNESS_STATE_INPUT' && error.reason === 'word')
  }
})

test('hs_99_children_are_noted_beside_the_turn_until_they_stop', async (t) => {
  const { directory, writer } = claimedSeat(t)
  const reader = new Reader(directory)
  const seen = () => { const { state, reason } = reader.readSync(); return [state, reason] }
  writer.observeSync({ state: 'active' })
  assert.equal((await writer.noteChild('c1', 'started')).outcome, 'landed')
  assert.equal(writer.noteChildSync('c2', 'working').outcome, 'landed')
  assert.deepEqual(extensionOf(directory).children, ['c1', 'c2'])
  writer.observeSync({ state: 'idle' })
  assert.deepEqual(seen(), ['active', 'children'])
  writer.noteChildSync('c1', 'stopped')
  assert.deepEqual(seen(), ['active', 'children'])
  await writer.noteChild('c2', 'stopped')
  assert.deepEqual(seen(), ['idle', null])
})

test('a_step_that_there_is_not_and_an_id_that_is_no_text_are_told', async (t) => {
  const { writer } = claimedSeat(t)
  const isWrong = (code, reason) => (error) => (
    error instanceof GallivantError && error.code === code && error.reason === reason
  )
  await assert.rejects(writer.noteChild('c', 'paused'), isWrong('HARNESS_STATE_INPUT', 'word'))
  assert.throws(() => writer.noteChildSync('c', 'paused'), isWrong('HARNESS_STATE_INPUT', 'word'))
  await assert.rejects(writer.noteChild(1, 'started'), isWrong('GALLIVANT_INPUT', 'argument'))
})
