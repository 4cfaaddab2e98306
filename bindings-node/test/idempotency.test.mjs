/** Idempotent creates: a store, what it answers, and what the holder of each answer may do. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createReadStream, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Fingerprint, GallivantError, IdempotencyStore } from '../lib/index.js'
import { TestHost } from '../lib/testing.js'
import { NAME, reserved, storeFor } from '../test-support/creates.mjs'
import { PACKAGE, directoryFor, runNode } from '../test-support/seat.mjs'

const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte)
const code = (wanted) => (error) => error instanceof GallivantError && error.code === wanted

test('ik_01_a_repeat_gets_the_resource_and_the_answer_byte_for_byte', async (t) => {
  const store = await storeFor(t)
  const first = await reserved(store, 'k', ALL_BYTES)
  assert.deepEqual([first.kind, first.how], ['create', 'fresh'])
  await first.complete('r-1', ALL_BYTES)
  const replay = await store.begin(...NAME, 'k', ALL_BYTES)
  assert.deepEqual([replay.kind, replay.how, replay.resource], ['replay', 'replayed', 'r-1'])
  assert.deepEqual(Uint8Array.from(replay.answer), ALL_BYTES)
  assert.equal(typeof replay.completedMs, 'bigint')
  assert.ok(Math.abs(Number(replay.completedMs) - Date.now()) < 60_000)
  assert.equal(await replay.stillStands(), true)
  assert.deepEqual({ ...(await store.inspect(...NAME, 'k')), answer: null }, { state: 'finished', resource: 'r-1', answer: null })
  assert.equal(await store.inspect(...NAME, 'another'), null)
})

test('ik_02_another_body_is_refused_while_the_create_runs_and_afterwards_and_changes_nothing', async (t) => {
  const store = await storeFor(t)
  const first = await reserved(store, 'k', 'a')
  await assert.rejects(store.begin(...NAME, 'k', 'b'), code('IDEMPOTENCY_KEY_REUSED'))
  assert.equal((await store.inspect(...NAME, 'k')).state, 'reserved')
  await first.complete('r-1', 'ok')
  assert.throws(() => store.beginSync(...NAME, 'k', 'b'), code('IDEMPOTENCY_KEY_REUSED'))
  assert.equal((await store.begin(...NAME, 'k', 'a')).resource, 'r-1')
})

test('ik_03_the_fingerprint_is_of_the_bytes_and_a_stream_has_the_same', async (t) => {
  const store = await storeFor(t)
  const file = join(directoryFor(t), 'body')
  writeFileSync(file, ALL_BYTES)
  const streamed = await Fingerprint.from(createReadStream(file, { highWaterMark: 7 }))
  const hash = createHash('sha256').update(ALL_BYTES).digest()
  assert.deepEqual(streamed.digest(), hash)
  assert.deepEqual(Fingerprint.of(ALL_BYTES).digest(), hash)
  assert.deepEqual(new Fingerprint().update('ä').update(new ArrayBuffer(1)).digest(), Fingerprint.of('ä\0').digest())
  assert.match(inspect(streamed), /hex: '[0-9a-f]{64}'/)
  await (await reserved(store, 'k', streamed)).complete('r-1', '')
  assert.equal((await store.begin(...NAME, 'k', ALL_BYTES)).kind, 'replay')
  await (await reserved(store, 'j', '{"a":1}')).complete('r-2', '')
  await assert.rejects(store.begin(...NAME, 'j', '{ "a": 1 }'), code('IDEMPOTENCY_KEY_REUSED'))
  const body = Buffer.from('first')
  const begun = store.begin(...NAME, 'now', body)
  body.fill('x')
  await (await begun).complete('r-3', '')
  assert.equal((await store.begin(...NAME, 'now', 'first')).kind, 'replay', 'the bytes are those at the call')
})

test('ik_05_what_is_dropped_is_free_and_after_the_mark_it_is_unknown', async (t) => {
  const store = await storeFor(t)
  for (const drop of [
    (held) => held[Symbol.asyncDispose](), (held) => held[Symbol.dispose](), (held) => held.release(),
    (held) => held.releaseSync(), (held) => held.abandon(), (held) => held.abandonSync(),
  ]) {
    await drop(await reserved(store, 'k', `${drop}`))
    assert.equal(await store.inspect(...NAME, 'k'), null, `${drop}`)
  }
  const marked = await reserved(store, 'k', 'a')
  await marked.effectStarting()
  assert.equal((await store.inspect(...NAME, 'k')).state, 'marked')
  await marked[Symbol.asyncDispose]()
  await assert.rejects(marked.complete('r', ''), code('GALLIVANT_INPUT'))
  const unknown = await store.begin(...NAME, 'k', 'a')
  assert.equal(unknown.kind, 'unknown')
  await assert.rejects(unknown.settle(), code('GALLIVANT_INPUT'), 'a forgotten argument says nothing')
  await assert.rejects(unknown.settle(''), code('IDEMPOTENCY_INPUT'))
  const absent = await unknown.settle(null)
  assert.deepEqual([absent.kind, absent.how], ['create', 'settled'])
  absent.effectStartingSync()
  absent.abandonSync()
  const found = (await store.begin(...NAME, 'k', 'a')).settleSync('r-found')
  assert.deepEqual([found.kind, found.how, found.resource, found.answer], ['replay', 'settled', 'r-found', null])
})

test('ik_05_disposing_of_what_was_completed_changes_nothing', async (t) => {
  const store = await storeFor(t)
  const made = await reserved(store, 'k')
  // Begun in one breath, and made in this order.
  await Promise.all([made.effectStarting(), made.keepAlive(), made.complete('r-1', 'ok'), made[Symbol.asyncDispose]()])
  assert.equal((await store.begin(...NAME, 'k', 'body')).resource, 'r-1')
  const again = await reserved(store, 'j')
  again.completeSync('r-2', 'ok')
  again[Symbol.dispose]()
  assert.equal((await store.begin(...NAME, 'j', 'body')).resource, 'r-2')
})

test('ik_05_a_reservation_that_was_forgotten_goes_with_its_garbage', async (t) => {
  const path = join(directoryFor(t), 'idempotency.db')
  const script = `
    const { IdempotencyStore } = require('./lib/index.js')
    ;(async () => {
      const store = await IdempotencyStore.open(process.argv[1])
      const name = ['things.create', ['org'], 'k']
      await (async () => { console.log((await store.begin(...name, 'a')).kind) })()
      for (let turn = 0; turn < 3000 && (await store.inspect(...name)) !== null; turn += 1) {
        await new Promise((resolve) => setTimeout(resolve, 10))
        gc()
      }
      console.log((await store.begin(...name, 'b')).kind)
    })()
  `
  const run = await runNode(['--expose-gc', '-e', script, path], { cwd: PACKAGE })
  assert.deepEqual(run, { code: 0, signal: null, stdout: 'create\ncreate\n', stderr: '' })
  const store = await storeFor(t, {}, path)
  assert.equal(await store.inspect('things.create', ['org'], 'k'), null, 'the end of the environment drops it')
})

test('ik_07_keys_of_two_scopes_or_operations_are_two', async (t) => {
  const store = await storeFor(t)
  const names = [['a', ['a', 'b']], ['a', ['ab']], ['a', ['a/b']], ['b', ['a', 'b']]]
  const made = await Promise.all(names.map(([operation, scope]) => store.begin(operation, scope, 'k', '')))
  assert.deepEqual(made.map(({ kind }) => kind), ['create', 'create', 'create', 'create'])
})

test('ik_08_of_many_who_find_it_gone_one_makes_it_anew', async (t) => {
  const store = await storeFor(t)
  await (await reserved(store, 'k')).complete('r-1', 'ok')
  const replay = await store.begin(...NAME, 'k', 'body')
  const racers = await Promise.all(Array.from({ length: 20 }, () => replay.recreate()))
  const [made, ...others] = racers.filter(({ kind }) => kind === 'create')
  assert.deepEqual([others.length, made.how], [0, 'recreated'])
  assert.equal(racers.filter(({ kind }) => kind === 'in_progress').length, 19)
  assert.equal(replay.stillStandsSync(), false)
  await made.complete('r-2', 'ok')
  assert.equal(replay.recreateSync().resource, 'r-2', 'what was replaced answers what replaced it')
})

test('ik_09_ik_10_who_was_taken_over_learns_what_the_winner_made', async (t) => {
  const path = join(directoryFor(t), 'idempotency.db')
  const machines = ['one', 'two'].map((machine) => new TestHost({ wallMs: 1_800_000_000_000n, machine }))
  const [one, two] = await Promise.all(machines.map(({ host }) => storeFor(t, { host }, path)))
  const loser = await reserved(one, 'k')
  machines[1].setWallMs(1_800_000_119_999n)
  assert.equal((await two.begin(...NAME, 'k', 'body')).kind, 'in_progress')
  machines[1].setWallMs(1_800_000_120_000n)
  const winner = await two.begin(...NAME, 'k', 'another body')
  assert.deepEqual([winner.kind, winner.how], ['create', 'taken-over'])
  await assert.rejects(loser.complete('r-own', ''), (error) => code('IDEMPOTENCY_CLAIM_LOST')(error) && error.resource === null)
  await winner.complete('r-winner', '')
  await assert.rejects(loser.release(), (error) => error.resource === 'r-winner' && error.file === null)
})

test('ik_09_after_a_sleep_of_the_machine_nobody_is_taken_over_for_its_age', async (t) => {
  const path = join(directoryFor(t), 'idempotency.db')
  const machines = ['one', 'two'].map((machine) => new TestHost({ wallMs: 0n, machine }))
  for (const machine of machines) machine.standAt(1_800_000_000_000n)
  const [one, two] = await Promise.all(machines.map(({ host }) => storeFor(t, { host }, path)))
  await reserved(one, 'k')
  machines[1].standAt(1_800_000_200_000n, 150_000n)
  two.noticeSleep()
  assert.equal((await two.begin(...NAME, 'k', 'body')).kind, 'in_progress')
  machines[1].standAt(1_800_000_320_000n, 150_000n)
  assert.equal((await two.begin(...NAME, 'k', 'body')).how, 'taken-over')
})

test('ik_11_ik_18_a_claim_lives_its_window_and_a_sweep_takes_what_has', async (t) => {
  const machine = new TestHost({ wallMs: 1_800_000_000_000n })
  const store = await storeFor(t, { host: machine.host, windowMs: 60_000 })
  assert.deepEqual(store.options, { windowMs: 60_000n, maxReservationMs: 3_600_000n, maxAnswerBytes: 1_048_576n, busyMs: 5000n })
  for (const key of ['a', 'b']) (await reserved(store, key)).completeSync('r', '')
  await reserved(store, 'running')
  machine.setWallMs(1_800_000_059_999n)
  assert.deepEqual(await store.sweep(), { removed: 0n, hasMore: false })
  assert.equal((await store.begin(...NAME, 'a', 'body')).kind, 'replay')
  machine.setWallMs(1_800_000_060_000n)
  const expired = await store.begin(...NAME, 'a', 'another')
  assert.deepEqual([expired.kind, expired.how], ['create', 'expired'])
  assert.deepEqual(store.sweepSync(), { removed: 1n, hasMore: false })
  assert.equal(store.inspectSync(...NAME, 'running').state, 'reserved')
})

test('ik_12_ik_15_a_store_that_cannot_be_used_is_named_and_nothing_is_made_over_it', async (t) => {
  const directory = directoryFor(t)
  const missing = join(directory, 'missing', 'idempotency.db')
  await assert.rejects(IdempotencyStore.open(missing), code('IDEMPOTENCY_STORE_UNAVAILABLE'))
  const damaged = join(directory, 'damaged.db')
  writeFileSync(damaged, 'x'.repeat(4096))
  for (const open of [(path) => IdempotencyStore.open(path), async (path) => IdempotencyStore.openSync(path)]) {
    await assert.rejects(open(damaged), (error) => {
      assert.deepEqual([error.code, error.kind, error.file], ['IDEMPOTENCY_STORE_CORRUPT', 'corrupt', damaged])
      assert.ok(error.remedy.length > 10)
      return true
    })
  }
  assert.deepEqual([readFileSync(damaged, 'utf8'), readdirSync(directory)], ['x'.repeat(4096), ['damaged.db']])
  const store = await storeFor(t)
  assert.deepEqual(await store.capability(), { keyedCreates: true, error: null })
  writeFileSync(`${store.path}.new`, '')
  renameSync(`${store.path}.new`, store.path)
  const { keyedCreates, error } = store.capabilitySync()
  assert.deepEqual([keyedCreates, error.code, error.file], [false, 'IDEMPOTENCY_STORE_UNAVAILABLE', store.path])
  assert.equal((await store.capability()).error.code, 'IDEMPOTENCY_STORE_UNAVAILABLE')
  await assert.rejects(store.begin(...NAME, 'k', ''), code('IDEMPOTENCY_STORE_UNAVAILABLE'))
})

test('ik_13_ik_14_what_is_out_of_bounds_is_refused', async (t) => {
  const store = await storeFor(t, { maxAnswerBytes: 10n })
  for (const key of ['', ' ', 'ä', 'k'.repeat(256)]) {
    await assert.rejects(store.begin(...NAME, key, ''), code('IDEMPOTENCY_KEY_INVALID'))
  }
  for (const [operation, scope] of [['', ['a']], ['a', []], ['a', ['']], ['a', ['s'.repeat(256)]]]) {
    assert.throws(() => store.beginSync(operation, scope, 'k', ''), code('IDEMPOTENCY_SCOPE_INVALID'))
  }
  const held = await reserved(store, 'k')
  await assert.rejects(held.complete('r', 'x'.repeat(11)), code('IDEMPOTENCY_ANSWER_TOO_LARGE'))
  await held.complete('r', 'x'.repeat(10))
  await assert.rejects(IdempotencyStore.open(store.path, { windowMs: 1 }), code('IDEMPOTENCY_INPUT'))
})

test('wrong_arguments_are_errors_like_any_other_and_change_nothing', async (t) => {
  const store = await storeFor(t)
  const held = await reserved(store, 'k')
  const wrong = [
    () => store.begin('a', 'org', 'k', ''), () => store.begin('a', ['org'], 7, ''), () => store.begin('a', ['org'], 'k', 7),
    () => store.begin('a', ['org'], 'k', '', { deadline: 7 }), () => store.begin('a', ['org'], 'k', '', { deadlineMs: -1 }),
    () => held.complete(7, ''), () => held.complete('r', 7), () => held.complete('r', '', { signal: 7 }),
    () => IdempotencyStore.open(store.path, { window: 7 }), () => IdempotencyStore.open(7),
    async () => new Fingerprint().update(7), async () => store.beginSync('a', ['org'], 'k', '', { signal: undefined }),
  ]
  for (const action of wrong) await assert.rejects(action, code('GALLIVANT_INPUT'), `${action}`)
  assert.throws(() => new IdempotencyStore(), TypeError)
  assert.equal((await store.inspect(...NAME, 'k')).state, 'reserved')
})

test('a_closed_store_is_closed_and_what_it_has_handed_out_goes_on', async (t) => {
  const store = await storeFor(t)
  const held = await reserved(store, 'k')
  const text = inspect(store) + inspect(held)
  assert.match(text, /^IdempotencyStore \{\s+path: .*\}Reservation \{ kind: 'create', how: 'fresh' \}$/s)
  await store[Symbol.asyncDispose]()
  await store.close()
  for (const call of [() => store.begin(...NAME, 'j', ''), () => store.sweep(), async () => store.capabilitySync()]) {
    await assert.rejects(call, (error) => code('GALLIVANT_INPUT')(error) && error.reason === 'closed')
  }
  await held.complete('r-1', 'ok')
  const again = await storeFor(t, {}, store.path)
  assert.equal((await again.begin(...NAME, 'k', 'body')).resource, 'r-1')
})

test('ik_06_the_sync_twins_do_the_same', async (t) => {
  const path = join(directoryFor(t), 'idempotency.db')
  const store = IdempotencyStore.openSync(path)
  t.after(() => store.closeSync())
  const held = store.beginSync(...NAME, 'k', 'body')
  held.effectStartingSync()
  held.keepAliveSync({ deadlineMs: 1000 })
  const ticket = store.beginSync(...NAME, 'k', 'body', { deadlineMs: 1000n })
  assert.deepEqual([ticket.kind, ticket.lookSync().kind], ['in_progress', 'in_progress'])
  assert.throws(() => ticket.waitSync({ deadlineMs: 50 }), code('IDEMPOTENCY_IN_PROGRESS'))
  held.completeSync('r-1', 'ok')
  const ended = ticket.waitSync({ deadlineMs: 50 })
  assert.deepEqual([ended.kind, ended.how, Buffer.from(ended.answer).toString()], ['replay', 'waited', 'ok'])
})

test('ik_12_ik_15_a_store_of_another_version_or_without_shared_memory_is_named', async (t) => {
  // Bytes of SQLite's header: the last of `user_version`, which is the store's schema; how the file is written and read.
  for (const [bent, wanted] of [[{ 63: 9 }, 'IDEMPOTENCY_STORE_VERSION'], [{ 18: 1, 19: 1 }, 'IDEMPOTENCY_STORE_UNSUPPORTED']]) {
    const path = join(directoryFor(t), 'bent.db')
    const store = await IdempotencyStore.open(path)
    await store.close()
    const bytes = readFileSync(path)
    for (const [offset, byte] of Object.entries(bent)) bytes[offset] = byte
    writeFileSync(path, bytes)
    await assert.rejects(IdempotencyStore.open(path), (error) => {
      assert.deepEqual([error.code, error.file], [wanted, path])
      return true
    })
    assert.deepEqual(readFileSync(path), bytes)
  }
})
