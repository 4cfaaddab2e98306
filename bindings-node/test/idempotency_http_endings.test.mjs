/** The handler for HTTP servers where a create does not simply end: clients that leave, handlers that throw, a server that closes. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { half, reserved, send, until } from '../test-support/creates.mjs'
import { state, thingsFor } from '../test-support/things.mjs'

test('a_client_that_leaves_before_the_application_runs_leaves_nothing', async (t) => {
  const { store, url, made } = await thingsFor(t)
  for (let turn = 0; turn < 5; turn += 1) {
    const client = await half(url, `half-${turn}`)
    client.destroy()
  }
  const held = await reserved(store, 'k', '{"name":"a"}')
  const controller = new AbortController()
  const waits = Array.from({ length: 5 }, () => send(url, 'k', undefined, { signal: controller.signal }))
  await pause(100)
  controller.abort()
  for (const { status } of await Promise.allSettled(waits)) assert.equal(status, 'rejected')
  await held.release()
  await pause(100)
  assert.equal(await state(store, 'k'), null, 'none of those who left took it')
  for (let turn = 0; turn < 5; turn += 1) assert.equal(await state(store, `half-${turn}`), null)
  assert.equal(made.length, 0)
})

test('a_client_that_leaves_while_the_application_runs_finds_the_answer_when_it_comes_back', async (t) => {
  const runs = []
  const { store, url, made } = await thingsFor(t, {}, async (req, res, number) => {
    await new Promise((resolve) => runs.push(resolve))
    res.writeHead(201, { 'content-type': 'application/json' }).end(`{"number":${number}}`)
  })
  const controller = new AbortController()
  const left = send(url, 'k', undefined, { signal: controller.signal })
  await until(() => runs.length === 1)
  controller.abort()
  await assert.rejects(left)
  await pause(50)
  assert.equal(await state(store, 'k'), 'reserved', 'it may still be made')
  const again = send(url, 'k')
  runs[0]()
  assert.deepEqual([(await again).json, (await again).replayed], [{ number: 1 }, 'true'])
  assert.equal(made.length, 1)
})

test('a_handler_that_gives_up_on_a_client_that_left_leaves_the_key_unknown_and_cannot_go_on', async (t) => {
  let late
  const { store, url, made } = await thingsFor(t, { abandonMs: 50 }, async (req, res) => {
    late = req.idempotency
    if (made.length === 1) await new Promise((resolve) => res.once('close', resolve))
    else await new Promise(() => {})
  })
  for (const key of ['over', 'hangs']) {
    const controller = new AbortController()
    const left = send(url, key, undefined, { signal: controller.signal })
    await until(() => late?.key === key)
    controller.abort()
    await assert.rejects(left)
    await until(async () => (await state(store, key)) === 'marked', key)
    // The mark is on disk a moment before the handler lets go of its reservation.
    const isClosed = () => late.effectStarting().then(() => false, (error) => error.reason === 'closed')
    await until(isClosed, 'it cannot go on')
  }
})

test('a_handler_may_be_given_longer_than_a_timer_can_be', async (t) => {
  const { store, url } = await thingsFor(t, { abandonMs: Number.MAX_SAFE_INTEGER }, async (req, res) => {
    await new Promise((resolve) => res.once('close', resolve))
    await new Promise((resolve) => setTimeout(resolve, 30))
    res.writeHead(201).end()
  })
  const controller = new AbortController()
  const left = send(url, 'k', undefined, { signal: controller.signal })
  await until(async () => (await state(store, 'k')) === 'reserved')
  controller.abort()
  await assert.rejects(left)
  await until(async () => (await state(store, 'k')) === 'finished')
})

test('a_handler_whose_promise_is_over_before_its_answer_keeps_its_reservation', async (t) => {
  const { store, url, made } = await thingsFor(t, {}, async (req, res, number) => {
    // Read to its end, the request destroys itself while its client waits.
    for await (const part of req) void part
    setTimeout(() => res.writeHead(201, { 'content-type': 'application/json' }).end(`{"number":${number}}`), 60)
  })
  const answers = await Promise.all(Array.from({ length: 5 }, () => send(url, 'k')))
  assert.deepEqual(answers.map(({ json }) => json.number), [1, 1, 1, 1, 1])
  assert.equal(made.length, 1)
  assert.equal(await state(store, 'k'), 'finished')
})

test('a_handler_that_throws_after_it_began_to_say_that_it_made_the_thing_leaves_the_key_unknown', async (t) => {
  const thrown = []
  const before = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', (error) => thrown.push(error.message))
  t.after(() => {
    process.removeAllListeners('unhandledRejection')
    for (const listener of before) process.on('unhandledRejection', listener)
  })
  const { store, url } = await thingsFor(t, {}, async (req, res) => {
    res.writeHead(201)
    setTimeout(() => res.destroy(), 100)
    throw new Error('in the middle')
  })
  await assert.rejects(send(url, 'k'))
  assert.equal(await state(store, 'k'), 'marked')
  assert.deepEqual(thrown, ['in the middle'])
})

test('a_handler_that_throws_frees_the_key_and_its_error_goes_where_it_went', async (t) => {
  const thrown = []
  const listen = (event) => {
    const before = process.listeners(event)
    process.removeAllListeners(event)
    process.on(event, (error) => thrown.push(`${event} ${error.message}`))
    t.after(() => {
      process.removeAllListeners(event)
      for (const listener of before) process.on(event, listener)
    })
  }
  listen('unhandledRejection')
  for (const [key, make] of [['sync', () => { throw new Error('at once') }], ['async', async () => { throw new Error('later') }]]) {
    const { store, url } = await thingsFor(t, {}, (req, res) => {
      setTimeout(() => res.destroy(), 200)
      return make()
    })
    await assert.rejects(send(url, key))
    assert.equal(await state(store, key), null)
  }
  assert.deepEqual(thrown, ['unhandledRejection at once', 'unhandledRejection later'])
})

test('a_server_that_closes_in_the_middle_leaves_no_reservation_that_nobody_ends', async (t) => {
  const runs = []
  const { store, server, url } = await thingsFor(t, {}, async (req, res) => {
    await new Promise((resolve) => runs.push(resolve))
    res.writeHead(201).end('made')
  })
  const sent = Array.from({ length: 8 }, (_, key) => send(url, `k-${key}`))
  const settled = Promise.allSettled(sent)
  await until(() => runs.length === 8)
  server.close()
  server.closeAllConnections()
  assert.ok((await settled).every(({ status }) => status === 'rejected'))
  for (const run of runs) run()
  for (let key = 0; key < 8; key += 1) await until(async () => (await state(store, `k-${key}`)) === 'finished')
})
