/** Lines of a run: the projection, windows of it, damage, and what of them a user interface shows. */

import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { DisplayWindow, LogReader, split } from '../lib/journal.js'
import { event, ids, runFor } from '../test-support/journal.mjs'
import { directoryFor } from '../test-support/seat.mjs'

const idsOf = ({ rows }) => rows.map(({ id }) => id)

test('ex_jrn_61_ex_jrn_62_windows_are_bounded_and_have_the_cursors_around_them', async (t) => {
  const run = runFor(t)
  const reader = await LogReader.open(run.directory)
  assert.deepEqual(await reader.tail(), { rows: [], before: null, after: null })
  assert.deepEqual(run.say(1000), { first: 1n, next: 1001n, bytes: BigInt(readFileSync(join(run.directory, 'job.log')).length) })
  const tail = await reader.tail()
  assert.deepEqual(idsOf(tail), ids(601, 1000))
  assert.deepEqual([tail.before, tail.after, tail.rows[0]], ['601', '1000', { id: '601', kind: 'line', text: 'text 601' }])
  assert.deepEqual(reader.tailSync(), tail)
  const older = await reader.history(tail.before)
  assert.deepEqual([idsOf(older), older.before], [ids(201, 600), '201'])
  assert.deepEqual(reader.historySync('601'), older)
  assert.deepEqual(idsOf(await reader.lines({ after: '3', limit: 4 })), ids(4, 7))
  assert.deepEqual(idsOf(reader.linesSync({ limit: 2n ** 40n })), ids(1, 400))
  assert.deepEqual(reader.linesSync({ after: '1000' }), { rows: [], before: null, after: null })
  assert.deepEqual(reader.linesSync({ limit: 0 }).rows, [])
  assert.equal((await reader.history('1')).rows.length, 0)
  for (const call of [() => reader.history('1001'), () => reader.lines({ after: '01' }), () => reader.history('made-up')]) {
    await assert.rejects(call(), { code: 'EXECUTION_INPUT' })
  }
  for (const call of [() => reader.history(7), () => reader.lines({ limit: -1 }), () => reader.lines({ from: '1' })]) {
    await assert.rejects(call(), { code: 'GALLIVANT_INPUT' })
  }
  await reader.close()
})

test('ex_jrn_29_ex_jrn_63_trimming_moves_no_id_and_what_is_gone_is_a_gap', async (t) => {
  const run = runFor(t)
  run.say(100)
  const { bytes } = run.projection.catchUpSync()
  const trimmed = await run.projection.trim(bytes / 2n)
  assert.ok(trimmed.bytes <= bytes / 2n && trimmed.first > 40n && trimmed.next === 101n)
  const reader = LogReader.openSync(run.directory)
  const first = Number(trimmed.first)
  const { rows, before } = reader.linesSync()
  assert.deepEqual(rows[0], { id: null, kind: 'gap', reason: 'retained' })
  assert.deepEqual([rows.slice(1).map(({ id, text }) => `${id} ${text}`), before], [ids(first, 100).map((id) => `${id} text ${id}`), null])
  assert.deepEqual(run.projection.trimSync(0), { first: 101n, next: 101n, bytes: 0n })
  run.say(1)
  assert.deepEqual(idsOf(reader.tailSync()), [null, '101'])
})

test('ex_jrn_31_gaps_and_damaged_lines_are_rows_with_their_ids', (t) => {
  const run = runFor(t)
  run.journal.appendSync([event('e1', 'one'), { id: 'g', provenance: 'provider', reason: 'provider-gap' }, event('e2', 'two'), event('e3', 'three')])
  run.projection.catchUpSync()
  const path = join(run.directory, 'job.log')
  writeFileSync(path, readFileSync(path, 'utf8').replace('"sequence":3', '"sequence":9'))
  const reader = LogReader.openSync(run.directory)
  assert.deepEqual(reader.tailSync().rows, [
    { id: '1', kind: 'line', text: 'one' }, { id: '2', kind: 'gap', reason: null },
    { id: '3', kind: 'gap', reason: 'corrupt-record' }, { id: '4', kind: 'line', text: 'three' },
  ])
  rmSync(join(run.directory, 'job.idx'))
  assert.deepEqual(reader.tailSync().rows, [{ id: null, kind: 'gap', reason: 'index-missing' }])
  writeFileSync(join(run.directory, 'log-meta.json'), '{"version":3}')
  assert.throws(() => reader.tailSync(), { code: 'EXECUTION_VERSION' })
})

test('ex_jrn_64_an_older_package_s_lines_have_their_numbers', (t) => {
  const directory = directoryFor(t)
  writeFileSync(join(directory, 'job.log'), 'one\ntwo\nhalf')
  assert.deepEqual(LogReader.openSync(directory).tailSync(), {
    rows: [{ id: '1', kind: 'line', text: 'one' }, { id: '2', kind: 'line', text: 'two' }], before: null, after: '2',
  })
})

test('ex_jrn_73_a_row_is_split_into_parts_with_its_id_and_their_position', () => {
  assert.deepEqual(split({ id: '7', kind: 'line', text: 'a\nb\u2028c\n' }), [
    { id: '7', position: 0, text: 'a', isGap: false }, { id: '7', position: 1, text: 'b\u2028c', isGap: false },
    { id: '7', position: 2, text: '', isGap: false },
  ])
  assert.deepEqual(split({ id: '8', kind: 'gap', reason: 'retained' }), [{ id: '8', position: 0, text: 'retained', isGap: true }])
  assert.deepEqual(split(JSON.parse('{"id":"8","kind":"gap"}'))[0].text, '')
  assert.deepEqual(split({ id: null, kind: 'gap', reason: null }), [])
  assert.throws(() => split({ id: '1', kind: 'row', text: '' }), { code: 'EXECUTION_INPUT' })
  assert.throws(() => split({ id: '1', kind: 'gap', reason: 'rumour' }), { code: 'EXECUTION_INPUT' })
  assert.throws(() => split(null), { code: 'GALLIVANT_INPUT' })
})

test('ex_jrn_74_ex_jrn_75_ex_jrn_76_a_window_is_bounded_and_merges_what_it_lost', (t) => {
  const run = runFor(t)
  run.say(5000)
  const reader = LogReader.openSync(run.directory)
  const window = new DisplayWindow()
  for (let after; ;) {
    const { rows, after: next } = reader.linesSync({ after })
    if (rows.length === 0) break
    window.push(...rows.flatMap(split))
    window.paint()
    after = next
  }
  assert.deepEqual(window.counts, { live: 2000, history: 0, pending: 0 })
  assert.deepEqual(window.painted().map(({ id }) => id), ids(3001, 5000))
  assert.deepEqual(window.recoveryCursors, ['3001'])
  assert.equal(window.oldestCursor, null)
  const asked = window.recoveryCursors[0]
  const { rows, before } = reader.historySync(asked)
  window.merge(rows.flatMap(split), asked, before)
  assert.deepEqual([window.counts.history, window.recoveryCursors, window.oldestCursor], [400, ['2601'], '2601'])
  window.push(...split(rows[0]), ...Array.from({ length: 401 }, (_, at) => ({ id: String(6000 + at), position: 0, text: '', isGap: false })))
  assert.equal(window.counts.pending, 400, 'what is shown waits no second time, and of what waits the oldest goes')
  window.close()
  window.push({ id: '9000', position: 0, text: '', isGap: false })
  assert.deepEqual([window.counts.pending, window.paint(), window.painted().length], [0, 0, 2400])
  for (const call of [() => window.push(7), () => window.push({ id: '1', position: -1, text: '', isGap: false }), () => window.merge([{ id: '1', position: 0, text: 'x' }])]) {
    assert.throws(call, { code: 'GALLIVANT_INPUT' })
  }
})
