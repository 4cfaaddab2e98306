/** The journal of a run: appending, digits, gaps, recovery, what it is worth, the result, and how it refuses. */

import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { GallivantError } from '../lib/index.js'
import { Journal, LogReader, Projection, check, checkSync, readRunResult, readRunResultJson, readRunResultJsonSync, readRunResultSync, retentionCandidates, retentionCandidatesSync } from '../lib/journal.js'
import { TestHost } from '../lib/testing.js'
import { OWNER, REDACTOR, event, ids, runFor } from '../test-support/journal.mjs'
import { PACKAGE, directoryFor, runNode } from '../test-support/seat.mjs'

const code = (wanted, reason) => (error) => {
  assert.ok(error instanceof GallivantError, inspect(error))
  assert.deepEqual([error.code, error.reason], [wanted, reason ?? error.reason], error.message)
  return true
}
const records = (directory) => readFileSync(join(directory, 'events.jsonl'), 'utf8').trimEnd().split('\n')

test('ex_jrn_06_each_event_is_appended_once_and_a_repeated_page_adds_nothing', async (t) => {
  const { directory, journal } = runFor(t)
  const page = [event('e1', 'one'), event('e2', { two: [2] }), event('e1', 'again')]
  const first = await journal.append(page)
  assert.deepEqual(first.placed, [{ sequence: 1n, how: 'recorded' }, { sequence: 2n, how: 'recorded' }, { sequence: 1n, how: 'known' }])
  assert.equal(first.end.sequence, 2n)
  assert.equal(first.end.offset, BigInt(readFileSync(join(directory, 'events.jsonl')).length))
  const again = journal.appendSync(page)
  assert.deepEqual([again.placed.map(({ how }) => how), again.end], [['known', 'known', 'known'], first.end])
  assert.deepEqual(journal.appendSync(new Set([event('e3')])).placed, [{ sequence: 3n, how: 'recorded' }])
  assert.deepEqual((await journal.append([])).placed, [])
})

test('ex_cur_25_numbers_keep_their_digits_as_bigints_and_as_text', async (t) => {
  const { directory, journal, projection } = runFor(t)
  const many = 123456789012345678901234567890n
  await journal.append([
    event('e1', { count: 2n ** 63n + 1n, list: [many, 0.1, -5n] }, { providerSequence: many, timestamp: 1700000000123.5 }),
    event('e2', undefined, { dataJson: '{"a":1.000,"b":1e400,"c":12345678901234567890}', providerSequence: 0, timestamp: 2n ** 53n }),
    event('e3', new Date(0), { timestamp: null }),
  ])
  const [one, two, three] = records(directory)
  assert.match(one, /"data":\{"count":9223372036854775809,"list":\[123456789012345678901234567890,0\.1,-5\]\}/)
  assert.match(one, /"providerSequence":123456789012345678901234567890,.*"timestamp":1700000000123\.5,/)
  assert.match(two, /"data":\{"a":1\.000,"b":1e400,"c":12345678901234567890\}/)
  assert.match(two, /"providerSequence":0,.*"timestamp":9007199254740992,/)
  assert.match(three, /"providerSequence":null,.*"timestamp":1\d{12},.*"data":"1970-01-01T00:00:00.000Z"/)
  // The whole page as a text keeps whatever is written there.
  await journal.append('[{"id":"e4","provenance":"local","type":"t","providerSequence":90071992547409930001,"data":[1.10,-0]}]')
  assert.match(records(directory)[3], /"providerSequence":90071992547409930001,.*"data":\[1\.10,-0\]/)
  for (const text of ['', '{}', '[', '[7]']) assert.throws(() => journal.appendSync(text), code('EXECUTION_INPUT'))
  projection.catchUpSync()
  const { rows } = await (await LogReader.open(directory)).tail()
  assert.match(rows[0].text, /^\{"count":9223372036854775809,/)
})

test('ex_jrn_09_secrets_are_covered_before_they_are_written', async (t) => {
  const { directory, journal } = runFor(t)
  await journal.append([event('id-hunter2!', { 'a hunter2!': ['hunter2!'] }, { type: 'hunter2!' })])
  const text = readFileSync(join(directory, 'events.jsonl'), 'latin1')
  assert.doesNotMatch(text + readFileSync(join(directory, 'journal.json'), 'latin1'), /hunter2/)
  assert.match(text, /"data":\{"a \[redacted\]":\["\[redacted\]"\]\}/)
  // What a program cut in the middle of a character is kept; an id must be what it was.
  await journal.append([event('e2', 'half \ud800')])
  assert.match(records(directory)[1], /"data":"half \ufffd"/)
  await assert.rejects(journal.append([event('\ud800')]), code('EXECUTION_INPUT', 'event'))
})

test('ex_jrn_10_gaps_have_a_reason_and_ex_jrn_08_what_is_too_long_becomes_one', async (t) => {
  const { directory, journal } = runFor(t)
  const { placed } = await journal.append([
    { id: 'gap-1', provenance: 'provider', reason: 'provider-gap' },
    event('long', 'x'.repeat(70_000)),
    event('e1', 'after'),
  ])
  assert.deepEqual(placed.map(({ how }) => how), ['recorded', 'oversized', 'recorded'])
  const { gaps, records: good, end, pending } = await check(directory)
  assert.deepEqual(gaps.map(({ from, to, reason }) => [from, to, reason]), [[1n, 1n, 'provider-gap'], [2n, 2n, 'oversized-record']])
  assert.deepEqual([gaps[0].bytes.from, gaps[0].bytes.to], [0n, gaps[1].bytes.from])
  assert.deepEqual([good, end.sequence, pending], [1n, 3n, null])
})

test('ex_jrn_83_ex_jrn_84_damage_is_found_by_its_bytes_and_the_rest_stays_readable', async (t) => {
  const run = runFor(t)
  run.sayTexts('one', 'two', 'three')
  const path = join(run.directory, 'events.jsonl')
  const bytes = readFileSync(path)
  const [from, to] = [bytes.indexOf('\n') + 1, bytes.indexOf('\n', bytes.indexOf('\n') + 1) + 1]
  bytes[from + 10] ^= 1
  writeFileSync(path, bytes)
  const wanted = {
    end: { offset: BigInt(bytes.length), sequence: 3n }, records: 2n, pending: null,
    gaps: [{ from: 2n, to: 2n, reason: 'corrupt-record', bytes: { from: BigInt(from), to: BigInt(to) } }],
  }
  assert.deepEqual(await check(run.directory), wanted)
  assert.deepEqual(checkSync(run.directory), wanted)
  assert.equal((await run.journal.append([event('later', 'four')])).end.sequence, 4n)
})

test('ex_jrn_13_a_batch_that_a_crash_left_is_recovered', async (t) => {
  const directory = directoryFor(t)
  const page = "[1, 2, 3].map((id) => ({ id: 'e' + id, provenance: 'local', type: 't', data: id }))"
  const script = (fault) => `
    const { Journal } = require('./lib/journal.js')
    const { Redactor } = require('./lib/redaction.js')
    const { TestHost } = require('./lib/testing.js')
    const { host } = new TestHost({ faults: [${JSON.stringify(fault)}] })
    const journal = Journal.openSync(process.argv[1], ${JSON.stringify(OWNER)}, new Redactor(), { host })
    journal.appendSync(${page})
  `
  const crash = (how) => ({ on: 'write_at', name: 'events.jsonl', do: how })
  const after = await runNode(['-e', script(crash('crash-after')), directory], { cwd: PACKAGE })
  assert.equal(after.signal, 'SIGKILL', after.stderr)
  assert.deepEqual((await check(directory)).pending, { records: 3n, kept: 3n })
  const journal = await Journal.open(directory, OWNER, REDACTOR)
  const recovered = await journal.recover()
  assert.deepEqual([recovered.kept, recovered.gap, recovered.end.sequence], [3n, false, 3n])
  assert.deepEqual(journal.recoverSync(), { kept: 0n, gap: false, end: recovered.end })
  await journal.close()
  const other = directoryFor(t)
  const before = await runNode(['-e', script(crash('crash')), other], { cwd: PACKAGE })
  assert.equal(before.signal, 'SIGKILL', before.stderr)
  assert.deepEqual(checkSync(other).pending, { records: 3n, kept: 0n })
  const second = Journal.openSync(other, OWNER, REDACTOR)
  const { placed } = second.appendSync(['e1', 'e2', 'e3'].map((id) => event(id)))
  assert.deepEqual(placed.map(({ sequence, how }) => `${sequence} ${how}`), ['1 known', '2 recorded', '3 recorded'])
  assert.deepEqual(checkSync(other).gaps.map(({ from, reason }) => [from, reason]), [[1n, 'interrupted-append']])
  second.closeSync()
})

test('the_calls_of_a_journal_are_made_in_their_order', async (t) => {
  const { directory, journal } = runFor(t)
  const calls = ids(1, 40).map((id) => journal.append([event(id)]))
  const ends = await Promise.all(calls)
  assert.deepEqual(ends.map(({ placed }) => String(placed[0].sequence)), ids(1, 40))
  assert.deepEqual(records(directory).map((line) => JSON.parse(line).eventId), ids(1, 40))
})

test('a_signal_that_has_fired_runs_nothing', async (t) => {
  const { directory, journal, projection } = runFor(t)
  const reason = new Error('enough')
  const signal = AbortSignal.abort(reason)
  const isReason = (error) => error === reason
  await assert.rejects(journal.append([event('e1')], { signal }), isReason)
  await assert.rejects(journal.recover({ signal }), isReason)
  await assert.rejects(projection.catchUp({ signal }), isReason)
  for (const call of [check, readRunResult, retentionCandidates, Projection.open, LogReader.open]) {
    await assert.rejects(call(directory, { signal }), isReason)
  }
  for (const call of [checkSync, readRunResultSync, Projection.openSync]) assert.throws(() => call(directory, { signal }), isReason)
  assert.equal(checkSync(directory).end.sequence, 0n)
  // Fired behind calls that run: either it was not made, or it answers what it did.
  const controller = new AbortController()
  const first = journal.append([event('e1')])
  const second = journal.append([event('e2')], { signal: controller.signal })
  controller.abort(reason)
  await assert.rejects(second, isReason)
  assert.equal((await first).end.sequence, 1n)
  assert.equal(checkSync(directory).end.sequence, 1n)
})

test('ex_jrn_20_ex_jrn_85_refusals_have_their_codes', async (t) => {
  const missing = join(directoryFor(t), 'nowhere')
  const unknown = { code: 'EXECUTION_UNKNOWN_RUN', operationId: null }
  await assert.rejects(Journal.open(missing, OWNER, REDACTOR), { ...unknown, runId: OWNER.runId })
  assert.throws(() => Projection.openSync(missing), { ...unknown, runId: 'nowhere' })
  await assert.rejects(LogReader.open(missing), code('EXECUTION_UNKNOWN_RUN'))
  await assert.rejects(check(missing), code('EXECUTION_UNKNOWN_RUN'))
  await assert.rejects(readRunResult(missing), code('EXECUTION_UNKNOWN_RUN'))
  const run = runFor(t)
  run.sayTexts('one')
  appendFileSync(join(run.directory, 'events.jsonl'), 'x')
  await assert.rejects(run.journal.append([event('e9')]), code('EXECUTION_JOURNAL', 'unknown-bytes'))
  await assert.rejects(check(run.directory), code('EXECUTION_JOURNAL', 'unknown-bytes'))
  writeFileSync(join(run.directory, 'journal.json'), '{"version":7}')
  assert.throws(() => run.journal.recoverSync(), code('EXECUTION_VERSION', 'journal'))
  const { host } = new TestHost({ faults: [{ on: 'read', name: 'journal.json', do: 'error', errno: 'EIO' }] })
  await assert.rejects(check(run.directory, { host }), code('EXECUTION_IO'))
  await assert.rejects(run.journal.append([event('')]), code('EXECUTION_INPUT'))
  await assert.rejects(run.journal.append([event('e', 1, { providerSequence: -1 })]), code('EXECUTION_INPUT'))
  for (const more of [{ provenance: 'rumour' }, { kind: 'x' }, { reason: 'provider-gap' }, { type: undefined }, { timestamp: '1' }]) {
    await assert.rejects(run.journal.append([event('good'), event('e', 1, more)]), (error) => code('EXECUTION_INPUT', 'event')(error) && /position=`1`$/.test(error.message))
  }
  await assert.rejects(run.journal.append([{ id: 'g', provenance: 'local', reason: 'holes' }]), code('EXECUTION_INPUT', 'event'))
  await assert.rejects(run.journal.append([event('e', undefined, { dataJson: '{"a":1,"a":2}' })]), code('EXECUTION_INPUT', 'shape'))
  await assert.rejects(run.journal.append([event('e', JSON.parse('['.repeat(200) + ']'.repeat(200)))]), code('EXECUTION_INPUT', 'shape'))
})

test('what_is_no_argument_is_refused', async (t) => {
  const { directory, journal, projection } = runFor(t)
  const refused = async (call, reason = 'argument') => assert.rejects(async () => call(), code('GALLIVANT_INPUT', reason))
  await refused(() => Journal.open(directory, { ...OWNER, taskId: 7 }, REDACTOR))
  await refused(() => Journal.open(directory, { ...OWNER, task: '7' }, REDACTOR), 'unknown-member')
  await refused(() => Journal.open(directory, OWNER, {}))
  await refused(() => Journal.open(directory, OWNER, REDACTOR, { redactor: REDACTOR }), 'unknown-member')
  await refused(() => journal.append(7))
  await refused(() => journal.append([7]))
  await refused(() => journal.append([event('e', undefined, { dataJson: '1},{"id":"forged"' })]))
  await refused(() => journal.append([event('e', 1, { dataJson: '1' })]))
  await refused(() => journal.append([event('e', 1, { timestamp: NaN })]))
  await refused(() => journal.append([event('e', 1, { providerSequence: 2 ** 60 })]), 'out-of-range')
  await refused(() => projection.trim(-1), 'out-of-range')
  assert.throws(() => new Journal(), TypeError)
  assert.throws(() => new Projection(), TypeError)
  assert.throws(() => new LogReader(), TypeError)
  assert.equal(checkSync(directory).end.sequence, 0n)
})

test('what_is_closed_says_so_and_a_close_waits_for_the_calls_before_it', async (t) => {
  const { directory } = runFor(t)
  const journal = await Journal.open(directory, OWNER, REDACTOR)
  const appended = journal.append([event('e1')])
  await journal.close()
  assert.equal((await appended).end.sequence, 1n)
  await assert.rejects(journal.append([event('e2')]), code('GALLIVANT_INPUT', 'closed'))
  const projection = Projection.openSync(directory)
  projection.closeSync()
  assert.throws(() => projection.catchUpSync(), code('GALLIVANT_INPUT', 'closed'))
  const reader = LogReader.openSync(directory)
  await reader.close()
  assert.throws(() => reader.tailSync(), code('GALLIVANT_INPUT', 'closed'))
  if (Symbol.asyncDispose !== undefined) await journal[Symbol.asyncDispose]()
  assert.match(inspect(journal), /^Journal \{\s+directory: '.*',\s+owner: \{\s+taskId: 'task-1'/)
})

test('ex_jrn_56_the_result_of_a_run_is_a_view_that_keeps_digits', async (t) => {
  const directory = directoryFor(t)
  assert.equal(await readRunResult(directory), null)
  assert.equal(await readRunResultJson(directory), null)
  const json = String.raw`{"version":1,"artifacts":null,"outcome":{"status":"succeeded","cost":12345678901234567890,"text":"hidden",`
    + String.raw`"note":"Bearer abc \"q\" \\","list":[1.5,-9007199254740993,null,true,{},[]],"__proto__":1}}`
  writeFileSync(join(directory, 'result.json'), json)
  const view = await readRunResult(directory)
  assert.deepEqual(view, readRunResultSync(directory))
  assert.equal(view.cost, 12345678901234567890n)
  assert.deepEqual(Object.keys(view), ['outcome', 'cost', 'artifacts', 'application', 'verification'])
  assert.deepEqual(Object.keys(view.outcome), ['status', 'cost', 'note', 'list', '__proto__'])
  assert.deepEqual(view.outcome.list, [1.5, -9007199254740993n, null, true, {}, []])
  assert.equal(view.outcome.note, 'Bearer [redacted] "q" \\')
  writeFileSync(join(directory, 'result.json'), '{"version":1,"outcome":{"cost":0.5},"artifacts":null}')
  assert.equal((await readRunResult(directory)).cost, 0.5)
  writeFileSync(join(directory, 'result.json'), '{"version":1,"outcome":{"cost":1.10}}')
  assert.match(await readRunResultJson(directory), /^\{"outcome":\{"cost":1\.10\},"cost":1\.10,/)
  assert.equal(readRunResultJsonSync(directory), await readRunResultJson(directory))
  writeFileSync(join(directory, 'result.json'), '{"version":9}')
  await assert.rejects(readRunResult(directory), code('EXECUTION_VERSION', 'result'))
})

test('ex_jrn_52_runs_whose_raw_output_may_go_are_listed', async (t) => {
  const root = directoryFor(t)
  for (const [name, expiresAt] of [['old', 1000], ['new', 4102444800000]]) {
    mkdirSync(join(root, name))
    writeFileSync(join(root, name, 'provider.log'), 'raw')
    writeFileSync(join(root, name, 'result.json'), '{"version":1}')
    writeFileSync(join(root, name, 'sensitive-redactions.json'), JSON.stringify({ version: 1, expiresAt, secrets: [] }))
  }
  assert.deepEqual(await retentionCandidates(root), ['old'])
  assert.deepEqual(retentionCandidatesSync(new URL(`file://${root}`)), ['old'])
})
