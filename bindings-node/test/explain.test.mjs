/** Explanations: why a reader concludes what it does. */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Reader, Session } from '../lib/index.js'
import { TestHost } from '../lib/testing.js'
import { claimedOn, claimedSeat, directoryFor } from '../test-support/seat.mjs'

test('hs_91_an_explanation_has_record_clock_rows_and_the_deciding_clause', async (t) => {
  const machine = new TestHost({ wallMs: 1_800_000_000_000n })
  const options = { host: machine.host }
  const { directory, writer } = claimedSeat(t, options)
  writer.observeSync({ state: 'active', reason: 'why' })
  machine.advanceMs(2000)
  const reader = new Reader(directory, options)
  for (const explanation of [await reader.explain(), reader.explainSync(), reader.snapshotSync().explain()]) {
    const { state, reason, clause, rows, record, damage, validUntilMs, ageMs, clock } = explanation
    assert.deepEqual([state, reason, clause, damage], ['active', 'why', 'HS-84', null])
    assert.deepEqual(rows.at(-1).clause, 'HS-84')
    assert.deepEqual(rows.filter((row) => row.matched).map((row) => row.clause), ['HS-84'])
    assert.ok(rows.length > 6 && rows.every((row) => row.question.length > 5))
    assert.deepEqual([validUntilMs, ageMs, clock.wallMs], [1_800_000_900_000n, 1999n, 1_800_000_002_000n])
    assert.deepEqual([typeof clock.bootMs, typeof clock.awakeMs, typeof clock.host], ['bigint', 'bigint', 'string'])
    const { incarnation, ...shown } = reader.snapshotSync().record
    assert.deepEqual(record, shown)
    assert.match(String(explanation), /^active \(why\), by HS-84\n(  (yes|no ) HS-\w+ +.*\n)+  the record was stamped 1s ago, seq 1\n$/)
    const json = JSON.parse(explanation.json)
    assert.deepEqual([json.state, json.clause, json.rows.length, json.ageMs], ['active', 'HS-84', rows.length, 1999])
  }
})

test('hs_91_a_probe_s_answer_decides_and_is_explained', async (t) => {
  const directory = directoryFor(t)
  const session = Session.startSync(directory, { agent: 'a', harness: 'c', ptySession: 'p' })
  session.writer.observeSync({ state: 'active' })
  session.close()
  const reader = new Reader(directory)
  const snapshot = await reader.snapshot()
  const explanations = [
    await reader.explain({ probe: 'lease' }), reader.explainSync({ probe: 'lease' }),
    await reader.explain({ probe: async () => false }), reader.explainSync({ probe: () => false }),
    snapshot.explain({ probe: 'dead' }),
  ]
  for (const { state, reason, clause } of explanations) {
    assert.deepEqual([state, reason, clause], ['unknown', 'session-dead', 'HS-80'])
  }
  assert.equal((await reader.explain({ probe: () => { throw new Error('no') } })).clause, 'HS-84')
  assert.equal(snapshot.explain({ nowMs: snapshot.takenAtMs + 900_000n }).clause, 'HS-75')
})

test('hs_91_nothing_and_what_cannot_be_read_are_explained_too', async (t) => {
  const directory = directoryFor(t)
  const reader = new Reader(directory)
  const nothing = await reader.explain()
  assert.deepEqual([nothing.state, nothing.clause, nothing.record, nothing.ageMs], [null, 'HS-70', null, null])
  assert.match(String(nothing), /^none, by HS-70\n/)
  writeFileSync(join(directory, 'harness-state'), 'x')
  const damaged = reader.explainSync()
  assert.deepEqual([damaged.state, damaged.reason, damaged.clause], ['unknown', 'malformed-record', 'HS-72'])
  assert.match(damaged.damage, /./)
})

test('an_explanation_shows_no_token_and_cannot_be_changed', async (t) => {
  const directory = directoryFor(t)
  const { writer } = claimedOn(directory, undefined, 'tok-that-nobody-may-see')
  writer.observeSync({ state: 'active' })
  const explanation = await new Reader(directory).explain()
  for (const text of [String(explanation), explanation.json, inspect(explanation, { depth: null, showHidden: true })]) {
    assert.doesNotMatch(text, /tok-that-nobody/)
    assert.match(text, /HS-84/)
  }
  assert.match(inspect(explanation), /^Explanation {\n {2}state: 'active',/)
  assert.throws(() => { explanation.record.seq = 2n }, TypeError)
  assert.throws(() => { explanation.rows[0].matched = true }, TypeError)
  assert.throws(() => { explanation.state = 'idle' }, TypeError)
})

test('a_signal_ends_an_explanation_that_waits_for_its_probe', async (t) => {
  const { directory, writer } = claimedSeat(t)
  writer.observeSync({ state: 'active' })
  const stop = new AbortController()
  const reason = new Error('enough')
  const explained = new Reader(directory, { probeBudgetMs: 60_000 }).explain({ probe: () => new Promise(() => {}), signal: stop.signal })
  setTimeout(() => stop.abort(reason), 20)
  await assert.rejects(explained, (error) => error === reason)
})
