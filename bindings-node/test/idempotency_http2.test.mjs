/** The handler for HTTP servers behind HTTP/2, whose requests have bodies that no header announces. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:http2'
import { test } from 'node:test'
import { idempotent } from '../lib/http.js'
import { NAME, storeFor, until } from '../test-support/creates.mjs'

const [OPERATION, SCOPE] = NAME

/** A server that answers with what it has read, and `send(body, key, further)`. */
async function echoFor(t, make, options = {}) {
  const store = await storeFor(t)
  const made = []
  const handler = idempotent({ store, operation: OPERATION, scope: () => SCOPE, ...options })
  const server = createServer((req, res) => handler(req, res, async (error) => {
    if (error) return res.writeHead(500).end(error.code)
    made.push(req)
    let text = ''
    for await (const part of req.setEncoding('utf8')) text += part
    return make(req, res, text)
  }))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect(`http://127.0.0.1:${server.address().port}`)
  t.after(() => {
    client.destroy()
    server.close()
  })
  const send = async (parts, key, { end = true } = {}) => {
    const stream = client.request({ ':method': 'POST', ':path': '/', 'idempotency-key': key }, { endStream: parts === null })
    for (const part of parts ?? []) stream.write(part)
    if (parts !== null && end) stream.end()
    if (!end) return stream
    const [headers] = await once(stream, 'response')
    let text = ''
    for await (const part of stream.setEncoding('utf8')) text += part
    return { status: headers[':status'], replayed: headers['idempotent-replayed'] ?? null, text }
  }
  return { store, made, send }
}

const echo = (req, res, text) => res.writeHead(201, { location: '/l' }).end(text)

test('ik_02_ik_03_a_body_that_no_header_announces_is_fingerprinted_and_still_there', async (t) => {
  const { made, send } = await echoFor(t, echo)
  const long = 'x'.repeat(300_000)
  for (const [key, parts] of Object.entries({ none: null, empty: [], short: ['{"a":', '1}'], long: [long, long] })) {
    const text = (parts ?? []).join('')
    assert.deepEqual(await send(parts, key), { status: 201, replayed: null, text }, key)
    assert.deepEqual(await send(parts, key), { status: 201, replayed: 'true', text }, key)
    const other = await send([...(parts ?? []), '!'], key)
    assert.deepEqual([other.status, JSON.parse(other.text).code], [409, 'idempotency_key_reused'], key)
  }
  assert.equal((await send(null, 'empty')).replayed, 'true', 'no body and an empty one are the same bytes')
  assert.equal(made.length, 4)
})

test('ik_03_a_body_is_bounded_and_one_that_is_broken_off_begins_nothing', async (t) => {
  const { made, send, store } = await echoFor(t, echo, { bodyLimit: 10 })
  const warnings = []
  const told = (warning) => warnings.push(warning.message)
  process.on('warning', told)
  const { status, text } = await send(['x'.repeat(11)], 'large')
  assert.deepEqual([status, JSON.parse(text).code], [413, 'content_too_large'])
  const stream = await send(['half'], 'half', { end: false })
  stream.on('error', () => {})
  stream.close()
  await once(stream, 'close')
  assert.equal((await send(['whole'], 'half')).status, 201)
  process.off('warning', told)
  assert.deepEqual([made.length, await store.inspect(...NAME, 'large'), warnings], [1, null, []])
})

test('ik_05_a_client_that_leaves_while_its_thing_is_made_leaves_the_outcome_unknown_or_an_answer', async (t) => {
  const before = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  const thrown = []
  process.on('unhandledRejection', (error) => thrown.push(error.message))
  t.after(() => {
    process.removeAllListeners('unhandledRejection')
    for (const listener of before) process.on('unhandledRejection', listener)
  })
  for (const [fails, state] of [[true, 'marked'], [false, 'finished']]) {
    const runs = []
    const ended = []
    const { send, store } = await echoFor(t, async (req, res) => {
      await new Promise((resolve) => {
        runs.push(resolve)
        res.once('close', resolve)
      })
      ended.push(true)
      // What an application throws whose client has gone proves nothing.
      if (fails) throw new Error('the client has gone')
      res.writeHead(201).end('made')
    })
    const stream = await send(['a'], 'k', { end: false })
    stream.on('error', () => {})
    stream.end()
    await until(() => runs.length === 1)
    stream.close(8)
    await until(() => ended.length === 1)
    await until(async () => (await store.inspect(...NAME, 'k'))?.state === state)
  }
  await until(() => thrown.length === 1)
})

test('what_http2_refuses_of_an_answer_is_thrown_where_it_is_said', async (t) => {
  const codes = []
  const { send } = await echoFor(t, (req, res) => {
    try {
      res.writeHead(99)
    } catch (error) {
      codes.push(error.code)
      res.writeHead(204).end()
    }
  })
  assert.equal((await send(['a'], 'k')).status, 204)
  assert.deepEqual([(await send(['a'], 'k')).replayed, codes], ['true', ['ERR_HTTP2_STATUS_INVALID']])
})
