/** The handler for HTTP servers, over node:http: real servers, real clients at once. */

import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { GallivantError } from '../lib/index.js'
import { SAVED_HEADERS, idempotent } from '../lib/http.js'
import { TestHost } from '../lib/testing.js'
import { NAME, half, holdDatabase, holdKey, reserved, send, serverFor, storeFor, until } from '../test-support/creates.mjs'
import { bytesOf, state, thingsFor } from '../test-support/things.mjs'

test('ik_01_ik_06_thirty_two_clients_at_once_get_one_thing', async (t) => {
  const { store, url, made } = await thingsFor(t, {}, async (req, res, number) => {
    assert.equal((await bytesOf(req)).toString(), '{"name":"a"}')
    await pause(100)
    res.writeHead(201, 'Made', { 'content-type': 'application/json', etag: '"v1"', location: '/things/1' }).end(`{"n":${number}}`)
  })
  const answers = await Promise.all(Array.from({ length: 32 }, () => send(url, 'k')))
  assert.equal(made.length, 1)
  for (const { status, text, headers } of answers) {
    const seen = [status, text, headers.get('etag'), headers.get('location'), headers.get('content-type')]
    assert.deepEqual(seen, [201, '{"n":1}', '"v1"', '/things/1', 'application/json'])
  }
  assert.equal(answers.filter(({ replayed }) => replayed === 'true').length, 31)
  assert.equal((await store.inspect(...NAME, 'k')).resource, '/things/1')
  assert.deepEqual((await Promise.all(Array.from({ length: 32 }, (_, key) => send(url, `k-${key}`)))).map(({ status }) => status), Array(32).fill(201))
  assert.equal(made.length, 33)
})

test('ik_01_a_replay_has_the_status_the_body_and_the_headers_that_say_what_it_is', async (t) => {
  const { url, made } = await thingsFor(t)
  const first = await send(url, 'k')
  const again = await send(url, 'k')
  assert.deepEqual([first.status, first.replayed, first.json], [201, null, { number: 1, bytes: 12, raw: 12 }])
  assert.deepEqual([again.status, again.replayed, again.text], [201, 'true', first.text])
  assert.deepEqual([first.headers.get('set-cookie'), again.headers.get('set-cookie')], ['secret=1', null])
  assert.ok(!SAVED_HEADERS.includes('set-cookie'))
  assert.equal(made.length, 1)
})

test('without_a_key_and_with_a_method_that_makes_nothing_everything_is_as_without_the_handler', async (t) => {
  const { store, url, made } = await thingsFor(t)
  assert.deepEqual((await send(url, null)).json, { number: 1, bytes: 12, raw: null })
  assert.deepEqual((await send(url, null)).json, { number: 2, bytes: 12, raw: null })
  assert.equal((await send(url, 'k', undefined, { method: 'GET' })).json.number, 3)
  assert.equal(await state(store, 'k'), null)
  const { key, how } = made[0].idempotency
  assert.deepEqual([key, how], [null, null])
  await made[0].idempotency.effectStarting()
  const strict = await thingsFor(t, { required: true })
  assert.deepEqual([(await send(strict.url, null)).json.code, (await send(strict.url, 'k')).status], ['idempotency_key_invalid', 201])
})

test('ik_02_ik_13_what_is_refused_says_so_in_the_specification_s_words', async (t) => {
  const { url, made } = await thingsFor(t)
  await send(url, 'k')
  const other = await send(url, 'k', '{"name":"b"}')
  assert.equal(other.headers.get('content-type'), 'application/problem+json')
  const { title, ...told } = other.json
  assert.deepEqual([other.status, told], [409, { type: 'about:blank', status: 409, code: 'idempotency_key_reused' }])
  assert.ok(title.length > 10)
  for (const key of ['k k', 'k'.repeat(256), '']) {
    const { status, json } = await send(url, key)
    assert.deepEqual([status, json.code], [400, 'idempotency_key_invalid'], key)
  }
  const long = await thingsFor(t, { scope: () => ['s'.repeat(256)], reusedStatus: 422 })
  assert.equal((await send(long.url, 'k')).json.code, 'idempotency_scope_invalid')
  const own = await thingsFor(t, { reusedStatus: 422 })
  await send(own.url, 'k')
  assert.equal((await send(own.url, 'k', 'other')).status, 422)
  assert.deepEqual([made.length, long.made.length], [1, 0])
})

test('ik_03_the_body_is_bounded_fingerprinted_as_it_was_sent_and_still_there', async (t) => {
  const { url, made, store } = await thingsFor(t, { bodyLimit: 100_000 })
  assert.equal((await send(url, 'large', 'x'.repeat(100_000))).json.bytes, 100_000)
  for (const duplex of [undefined, 'half']) {
    const body = 'x'.repeat(100_001)
    // One with a length, and one that comes in parts without.
    const streamed = duplex && new Blob([body]).stream()
    const headers = { 'idempotency-key': 'more' }
    const response = await fetch(url, { method: 'POST', body: streamed ?? body, duplex, headers })
    assert.deepEqual([response.status, (await response.json()).code], [413, 'content_too_large'])
  }
  assert.equal(await state(store, 'more'), null)
  const parts = (text) => new ReadableStream({ async start(controller) {
    for (const part of text) {
      controller.enqueue(Buffer.from(part))
      await pause(2)
    }
    controller.close()
  } })
  const sent = async (text, key) => {
    const response = await fetch(url, { method: 'POST', body: parts(text), duplex: 'half', headers: { 'idempotency-key': key } })
    return [response.status, await response.json()]
  }
  assert.deepEqual(await sent('{"name":"a"}', 'parts'), [201, { number: 2, bytes: 12, raw: 12 }])
  assert.equal((await send(url, 'parts', '{"name":"a"}')).replayed, 'true')
  assert.equal((await send(url, 'parts', '{ "name":"a"}')).json.code, 'idempotency_key_reused')
  assert.deepEqual(await sent('', 'empty'), [201, { number: 3, bytes: 0, raw: 0 }])
  assert.equal((await send(url, 'empty', '')).replayed, 'true')
  assert.equal(made.length, 3)
})

test('ik_05_what_is_no_completed_answer_frees_the_key_for_any_body', async (t) => {
  let status = 500
  const { store, url, made } = await thingsFor(t, {}, (req, res) => {
    res.statusCode = status
    res.end('said')
  })
  for (const failing of [500, 404, 302]) {
    status = failing
    const answer = await fetch(url, { method: 'POST', body: `${failing}`, redirect: 'manual', headers: { 'idempotency-key': 'k' } })
    assert.deepEqual([answer.status, await answer.text()], [failing, 'said'])
    assert.equal(await state(store, 'k'), null)
  }
  status = 200
  assert.equal((await send(url, 'k', 'another')).status, 200)
  assert.deepEqual([await state(store, 'k'), (await store.inspect(...NAME, 'k')).resource], ['finished', '-'])
  assert.equal(made.length, 4)
  const own = await thingsFor(t, { isCompleted: (code) => code === 409 }, (req, res) => res.writeHead(409).end('exists'))
  await send(own.url, 'k')
  assert.deepEqual([(await send(own.url, 'k')).text, own.made.length], ['exists', 1])
})

test('the_resource_is_what_the_application_says_or_a_function_or_a_header', async (t) => {
  const store = await storeFor(t)
  const resource = async (key, options, make) => {
    const { url } = await thingsFor(t, { store, ...options }, make)
    assert.equal((await send(url, key)).status, 201)
    return (await store.inspect(...NAME, key)).resource
  }
  const end = (req, res) => res.writeHead(201, { location: '/l', 'x-id': 'x-1' }).end('{"id":"j-1"}')
  assert.equal(await resource('a', {}, end), '/l')
  assert.equal(await resource('b', { resource: 'X-Id' }, end), 'x-1')
  assert.equal(await resource('c', { resource: async (req, { body }) => JSON.parse(Buffer.from(body)).id }, end), 'j-1')
  assert.equal(await resource('d', { resource: 'x-id' }, (req, res) => {
    req.idempotency.resource = 'said'
    end(req, res)
  }), 'said')
})

test('ik_04_nothing_of_the_answer_is_sent_before_it_is_saved', async (t) => {
  const { store, url, made } = await thingsFor(t, { store: await storeFor(t, { busyMs: 60_000 }) }, async (req, res) => {
    await req.idempotency.effectStarting()
    res.writeHead(201, { 'content-type': 'text/plain' })
    assert.deepEqual([res.headersSent, res.writableEnded], [true, false])
    res.flushHeaders()
    assert.throws(() => res.writeHead(500), { code: 'ERR_HTTP_HEADERS_SENT' })
    await new Promise((resolve) => res.write('one ', resolve))
    made.written = true
    await until(() => made.locked)
    res.end('two')
    assert.equal(res.writableEnded, true)
  })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  let seen = ''
  socket.setEncoding('utf8').on('data', (part) => { seen += part })
  socket.write('POST / HTTP/1.1\r\nHost: h\r\nIdempotency-Key: k\r\nContent-Length: 2\r\n\r\n{}')
  await until(() => made.written)
  const database = await holdDatabase(t, store.path)
  made.locked = true
  await pause(200)
  assert.equal(seen, '')
  await database.release()
  await until(() => seen.endsWith('one two'))
  assert.equal(await state(store, 'k'), 'finished')
  assert.match(seen, /^HTTP\/1\.1 201 Created\r\n/)
  socket.destroy()
})

test('ik_06_a_repeat_waits_for_so_long_and_is_then_told_to_come_back', async (t) => {
  const { store, url } = await thingsFor(t, { waitMs: 50, retryAfterS: 7 })
  const held = await reserved(store, 'k', '{"name":"a"}')
  const { status, json, headers } = await send(url, 'k')
  assert.deepEqual([status, json.code, json.resource, headers.get('retry-after')], [409, 'idempotency_in_progress', undefined, '7'])
  await held.complete('r', 'of another kind')
  const found = await send(url, 'k')
  assert.deepEqual([found.status, found.json, found.replayed], [200, { resource: 'r' }, 'true'])
})

test('ik_05_after_the_mark_no_abort_and_no_error_frees_the_key_until_it_is_settled', async (t) => {
  const answers = { outcome: undefined }
  let ends = (req, res) => res.writeHead(500).end()
  const { store, url, made } = await thingsFor(t, {
    settle: (req, claim) => {
      assert.equal(claim.kind, 'unknown')
      return answers.outcome
    },
    found: (req, resource) => ({ status: 200, headers: { 'content-type': 'text/plain' }, body: `found ${resource}` }),
  }, async (req, res) => {
    await req.idempotency.effectStarting()
    return ends(req, res)
  })
  await send(url, 'k')
  const unknown = await send(url, 'k')
  assert.deepEqual([unknown.status, unknown.json.code, unknown.headers.get('retry-after')], [409, 'idempotency_unknown', '1'])
  answers.outcome = null
  await send(url, 'k')
  assert.equal(made.length, 2, 'proved absent, it was made again')
  assert.equal(made[1].idempotency.how, 'settled')
  answers.outcome = 'r-7'
  const found = await send(url, 'k')
  assert.deepEqual([found.status, found.text, found.replayed], [200, 'found r-7', 'true'])
  ends = async (req, res) => {
    await req.idempotency.release()
    res.writeHead(500).end()
  }
  await send(url, 'released')
  assert.equal(await state(store, 'released'), null, 'the application says that nothing was made')
})

test('ik_08_what_is_proved_to_be_deleted_is_made_anew_once', async (t) => {
  const gone = new Set()
  const { url, made } = await thingsFor(t, { isGone: async (req, resource) => gone.has(resource) })
  await send(url, 'k')
  assert.equal((await send(url, 'k')).json.number, 1)
  gone.add('/things/1')
  const answers = await Promise.all(Array.from({ length: 8 }, () => send(url, 'k')))
  assert.deepEqual([...new Set(answers.map(({ json }) => json.number))], [2])
  assert.deepEqual([made.length, made[1].idempotency.how], [2, 'recreated'])
})

test('ik_12_where_the_store_cannot_be_used_nothing_is_made', async (t) => {
  const { store, url, made, errors } = await thingsFor(t, { store: await storeFor(t, { busyMs: 50 }) })
  const database = await holdDatabase(t, store.path)
  const busy = await send(url, 'k')
  assert.deepEqual([busy.status, busy.json.code, busy.headers.get('retry-after')], [503, 'idempotency_busy', '1'])
  await database.release()
  renameSync(store.path, `${store.path}.away`)
  const { status, text, json, headers } = await send(url, 'k')
  assert.deepEqual([status, json.code, headers.get('retry-after')], [503, 'idempotency_store_unavailable', '1'])
  assert.doesNotMatch(text, /idempotency\.db/)
  assert.deepEqual([made.length, errors.map((error) => error instanceof GallivantError)], [0, [true, true]])
  assert.equal((await send(url, null)).status, 201, 'without a key it is as ever')
})

test('ik_14_an_answer_that_is_too_large_is_sent_and_its_repeats_are_told', async (t) => {
  const store = await storeFor(t, { maxAnswerBytes: 200n })
  const sizes = { small: 20, edge: 180, large: 500 }
  const { url, made } = await thingsFor(t, { store }, async (req, res) => {
    res.writeHead(201, { 'content-type': 'text/plain', location: '/t' })
    const body = 'x'.repeat(sizes[req.idempotency.key])
    for (const part of body.match(/.{1,90}/g)) res.write(part)
    assert.equal(await state(store, req.idempotency.key), 'reserved')
    res.end()
  })
  for (const [key, size] of Object.entries(sizes)) {
    const first = await send(url, key)
    assert.deepEqual([first.status, first.text.length], [201, size])
    const again = await send(url, key)
    if (key === 'small') assert.deepEqual([again.status, again.text], [201, first.text])
    else assert.deepEqual([again.status, again.json.code, again.json.resource], [409, 'idempotency_answer_too_large', '/t'])
  }
  assert.equal(made.length, 3)
})

test('ik_10_who_was_taken_over_meanwhile_is_told_and_undoes_its_own', async (t) => {
  const lost = []
  const machines = ['one', 'two'].map((machine) => new TestHost({ wallMs: 1_800_000_000_000n, machine }))
  const store = await storeFor(t, { host: machines[0].host })
  const other = await storeFor(t, { host: machines[1].host }, store.path)
  const { url } = await thingsFor(t, { store, lost: async (req, own, winner) => lost.push([own, winner]) }, async (req, res) => {
    machines[1].advanceMs(120_000)
    await (await reserved(other, req.idempotency.key, '{"name":"a"}')).complete('r-winner', '')
    if (req.idempotency.key === 'marks') await assert.rejects(req.idempotency.effectStarting(), { code: 'IDEMPOTENCY_CLAIM_LOST' })
    res.writeHead(201, { location: '/own', etag: '"own"' }).end('own')
  })
  const { status, json, headers } = await send(url, 'k')
  assert.deepEqual([status, json.code, json.resource], [409, 'idempotency_claim_lost', 'r-winner'])
  assert.deepEqual([headers.get('location'), headers.get('etag')], [null, null])
  assert.deepEqual(lost, [['/own', 'r-winner']])
  assert.equal((await send(url, 'marks')).status, 409)
})

test('ik_09_a_create_that_takes_long_gives_signs_of_life', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const machines = ['one', 'two'].map((machine) => new TestHost({ wallMs: 1_800_000_000_000n, machine }))
  const store = await storeFor(t, { host: machines[0].host })
  const other = await storeFor(t, { host: machines[1].host }, store.path)
  let signs = 0
  const { url } = await thingsFor(t, { store }, async (req, res) => {
    const { reservation } = req.idempotency
    const keepAlive = reservation.keepAlive.bind(reservation)
    reservation.keepAlive = async () => {
      await keepAlive()
      signs += 1
    }
    machines[0].advanceMs(100_000)
    t.mock.timers.tick(30_000)
    await until(() => signs === 1)
    machines[1].advanceMs(219_999)
    assert.equal((await other.begin(...NAME, 'k', '{"name":"a"}')).kind, 'in_progress')
    res.writeHead(201).end()
  })
  assert.equal((await send(url, 'k')).status, 201)
  t.mock.timers.tick(60_000)
  await pause(20)
  assert.equal(signs, 1, 'none after the answer')
})

test('a_function_of_the_program_that_throws_after_the_answer_leaves_the_key_unknown', async (t) => {
  for (const name of ['resource', 'isCompleted']) {
    const { store, url, errors } = await thingsFor(t, { [name]: () => { throw new Error(name) } })
    const { status, json } = await send(url, 'k')
    assert.deepEqual([status, json.code, errors.map(({ message }) => message)], [500, 'idempotency_unknown', [name]])
    assert.equal((await store.begin(...NAME, 'k', '{"name":"a"}')).kind, 'unknown')
  }
})

test('what_could_not_be_said_is_said_later_and_the_key_is_held_until_then', async (t) => {
  const { store, url, errors } = await thingsFor(t, { store: await storeFor(t, { busyMs: 50 }), waitMs: 0 }, async (req, res) => {
    const database = await holdDatabase(t, store.path)
    res.once('finish', () => setTimeout(() => database.release(), 100))
    res.writeHead(201, { location: '/r' }).end('made')
  })
  const first = await send(url, 'k')
  assert.deepEqual([first.status, first.json.code], [503, 'idempotency_busy'])
  assert.equal((await send(url, 'k')).json.code, 'idempotency_in_progress')
  await until(async () => (await state(store, 'k')) === 'finished')
  const again = await send(url, 'k')
  assert.deepEqual([again.status, again.text, again.replayed], [201, 'made', 'true'])
  assert.ok(errors.length > 0)
})

test('ik_16_a_create_of_another_process_is_waited_for', async (t) => {
  const { store, url } = await thingsFor(t)
  const other = await holdKey(t, store.path, 'k')
  const waiting = send(url, 'k', 'body')
  await pause(50)
  assert.equal(await other.tell('complete'), 'done')
  assert.deepEqual([(await waiting).status, (await waiting).json], [200, { resource: 'r-other' }])
})

test('mistakes_of_the_program_are_told_to_it', async (t) => {
  const store = await storeFor(t)
  const good = { store, operation: 'o', scope: () => ['s'] }
  for (const bad of [{ store: 7 }, { operation: 7 }, { scope: ['s'] }, { waitMs: -1 }, { settle: 7 }, { unknown: 7 }]) {
    assert.throws(() => idempotent({ ...good, ...bad }), { code: 'GALLIVANT_INPUT' })
  }
  const scoped = await thingsFor(t, { scope: () => { throw new Error('no user') } })
  assert.deepEqual([(await send(scoped.url, 'k')).status, scoped.made.length], [500, 0])
  const handler = idempotent(good)
  const { url } = await serverFor(t, async (req, res) => {
    await bytesOf(req)
    handler(req, res, (error) => res.writeHead(500).end(`${error?.code} ${error?.reason}`))
  })
  assert.equal((await send(url, 'k')).text, 'GALLIVANT_INPUT body')
  assert.equal(await state(store, 'k'), null)
})
