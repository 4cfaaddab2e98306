/** Replays over HTTP: framing, pace, reconnecting, every end, and what is left after it. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, request } from 'node:http'
import { connect as connectHttp2, createServer as createHttp2Server } from 'node:http2'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { HEARTBEAT_MS, MAX_PENDING_BYTES, pipeReplay, replay, serverSentEvent } from '../lib/journal.js'
import { TestHost } from '../lib/testing.js'
import { Events, clientFor } from '../test-support/events.mjs'
import { descriptors, ids, lookouts, runFor, until } from '../test-support/journal.mjs'
import { directoryFor } from '../test-support/seat.mjs'

/** A server on a port of its own that answers every request with `handle`; its ends are kept. */
async function serverFor(t, handle) {
  const ends = []
  const responses = []
  const server = createServer((req, res) => {
    responses.push(res)
    const ended = Promise.resolve(handle(req, res))
    ended.catch(() => {})
    ends.push(ended)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { server, ends, responses, port: server.address().port }
}

const streaming = (run, options) => (req, res) => pipeReplay(run.directory, res, options)

test('ex_jrn_69_rows_are_server_sent_events_whatever_their_text_is', async (t) => {
  const run = runFor(t)
  const texts = ['one', 'a\nb', 'a\rb', 'a\r\nb\r\n', '', ' leading', '\u2028x\u2029', 'id: 9\n\ndata: forged', 'zero\u0000', '\ud83d\ude00', '\ufeffbom']
  run.sayTexts(...texts)
  const { port } = await serverFor(t, streaming(run))
  const client = await clientFor(port)
  assert.equal(client.res.statusCode, 200)
  const { 'content-type': type, 'cache-control': cache, 'x-accel-buffering': buffering, 'content-length': length } = client.res.headers
  assert.deepEqual([type, cache, buffering, length], ['text/event-stream', 'no-store, no-transform', 'no', undefined])
  await until(() => client.events.seen.length === texts.length, 'every row')
  assert.deepEqual(client.ids(), ids(1, texts.length))
  assert.deepEqual(client.events.seen.map(({ event, data }) => [event, JSON.parse(data).text]), texts.map((text) => ['line', text]))
  client.req.destroy()
})

test('ex_jrn_69_a_frame_is_one_event_on_the_wire_and_forges_no_other', () => {
  assert.equal(serverSentEvent({ id: '7', event: 'line', data: 'a\r\nb\rc\u2028d' }), 'id: 7\nevent: line\ndata: a\ndata: b\ndata: c\u2028d\n\n')
  assert.equal(serverSentEvent({ id: null, event: 'gap\ndata: x', data: '' }), 'event: gap\ndata: \n\n')
  assert.equal(serverSentEvent({ id: '8\nid: 9', event: 'line', data: 'x' }), 'event: line\ndata: x\n\n')
  assert.equal(serverSentEvent({ event: 'heartbeat', data: '' }), ':heartbeat\n\n')
  assert.throws(() => serverSentEvent({ id: 7, event: 'line', data: '' }), { code: 'GALLIVANT_INPUT' })
})

test('ex_jrn_67_a_client_that_reconnects_goes_on_where_it_was', async (t) => {
  const run = runFor(t)
  run.say(50)
  const { port, ends } = await serverFor(t, streaming(run))
  const first = await clientFor(port)
  await until(() => first.events.seen.length >= 50)
  first.req.destroy()
  assert.deepEqual(await ends[0], { how: 'disconnected', resumePoint: '50', error: null })
  run.say(10)
  const second = await clientFor(port, { 'last-event-id': first.events.lastId })
  await until(() => second.events.seen.length === 10)
  assert.deepEqual([...first.ids(), ...second.ids()], ids(1, 60))
  run.projection.trimSync(300)
  const late = await clientFor(port, { 'last-event-id': '20' })
  await until(() => late.events.lastId === '60')
  assert.deepEqual([late.events.seen[0].id, late.events.seen[0].event], ['', 'gap'])
  const whole = await clientFor(port, { 'last-event-id': '' })
  await until(() => whole.events.lastId === '60')
  for (const client of [second, late, whole]) client.req.destroy()
  await Promise.all(ends)
})

test('an_id_that_is_given_comes_before_the_header_and_a_replay_has_its_own', async (t) => {
  const run = runFor(t)
  run.say(5)
  const { port, ends } = await serverFor(t, (req, res) => {
    if (req.url === '/given') return pipeReplay(run.directory, res, { lastEventId: '3' })
    return pipeReplay(replay(run.directory, { lastEventId: '4' }), res)
  })
  const events = new Events()
  const req = request({ port, host: '127.0.0.1', path: '/given', headers: { 'last-event-id': '1' } }).end()
  const [res] = await once(req, 'response')
  res.setEncoding('utf8').on('data', (text) => events.push(text)).on('error', () => {})
  const other = await clientFor(port, { 'last-event-id': '1' })
  await until(() => events.seen.length === 2 && other.events.seen.length === 1)
  assert.deepEqual([events.seen[0].id, other.events.lastId], ['4', '5'])
  req.destroy()
  other.req.destroy()
  await Promise.all(ends)
})

test('ex_jrn_70_ex_jrn_86_a_heartbeat_is_a_comment_that_moves_nothing', async (t) => {
  const run = runFor(t)
  run.say(2)
  const machine = new TestHost({ wallMs: 1_700_000_000_000n })
  const { port } = await serverFor(t, streaming(run, { host: machine.host }))
  const client = await clientFor(port)
  await until(() => client.events.seen.length === 2)
  machine.advanceMs(HEARTBEAT_MS)
  // Somebody touches the log, so that it looks before its own alarm.
  await until(() => {
    run.projection.catchUpSync()
    writeFileSync(join(run.directory, 'log-meta.json.tmp'), '')
    run.say(0)
    rmSync(join(run.directory, 'log-meta.json.tmp'))
    return client.events.comments === 1
  }, 'a heartbeat')
  assert.deepEqual([client.events.seen.length, client.events.lastId], [2, '2'])
  run.say(1)
  await until(() => client.events.lastId === '3')
  client.req.destroy()
})

test('ex_jrn_72_a_client_that_reads_slowly_gets_everything_once_and_holds_little', { timeout: 180_000 }, async (t) => {
  const run = runFor(t)
  run.say(400, 'x'.repeat(20_000))
  let frames
  const { port, responses, ends } = await serverFor(t, (req, res) => {
    frames = replay(run.directory)
    return pipeReplay(frames, res)
  })
  const socket = connect(port, '127.0.0.1')
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  await until(() => responses.length === 1 && responses[0].writableNeedDrain, 'a full socket')
  const stuck = [frames.resumePoint, responses[0].writableLength]
  await pause(100)
  assert.deepEqual([frames.resumePoint, responses[0].writableLength], stuck, 'nothing is written while it does not read')
  assert.ok(Number(stuck[0]) < 400 && stuck[1] < 200_000, `${stuck}`)
  let most = 0
  let text = ''
  socket.setEncoding('utf8').on('data', (part) => {
    text += part
    most = Math.max(most, frames.pendingBytes + responses[0].writableLength)
    socket.pause()
    setImmediate(() => socket.resume())
  }).resume()
  await until(() => text.includes('\nid: 400\n'), 'the last row')
  assert.deepEqual([...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id), ids(1, 400))
  assert.ok(most < MAX_PENDING_BYTES + 200_000, `${most}`)
  socket.destroy()
  assert.equal((await ends[0]).how, 'disconnected')
  // A replay that is closed while its client does not read ends at once, too.
  const other = connect(port, '127.0.0.1').pause()
  other.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await until(() => responses.length === 2 && responses[1].writableNeedDrain, 'a full socket')
  await frames.close()
  assert.equal((await ends[1]).how, 'closed')
  other.destroy()
})

test('ex_jrn_71_nothing_is_left_of_clients_that_leave_in_the_middle', { timeout: 180_000 }, async (t) => {
  const run = runFor(t)
  run.say(200, 'y'.repeat(5000))
  const controller = new AbortController()
  const listening = { count: 0 }
  const signal = {
    get aborted() { return controller.signal.aborted }, get reason() { return controller.signal.reason },
    addEventListener(...args) { listening.count += 1; controller.signal.addEventListener(...args) },
    removeEventListener(...args) { listening.count -= 1; controller.signal.removeEventListener(...args) },
  }
  const listeners = (res) => ['close', 'error', 'drain', 'finish'].map((name) => res.listenerCount(name))
  const counts = []
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const { port, ends, responses } = await serverFor(t, (req, res) => {
    counts.push(listeners(res))
    return pipeReplay(run.directory, res, { signal })
  })
  const before = descriptors()
  const timersBefore = timers()
  for (let turn = 0; turn < 3; turn += 1) {
    const clients = Array.from({ length: 20 }, (_, number) => {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      // Some leave before they are answered, some in the middle, some never read.
      if (number % 4 === 3) socket.pause()
      else socket.on('data', () => { if (number % 4 === 1) socket.destroy() })
      if (number % 4 === 0) setTimeout(() => socket.destroy(), number)
      return socket
    })
    // Of those who leave at once some were never heard.
    await until(() => ends.length >= (turn + 1) * 15, 'every request')
    await until(() => lookouts() === 1, 'somebody waits')
    for (const socket of clients) socket.destroy()
    for (const { how } of await Promise.all(ends)) assert.equal(how, 'disconnected')
  }
  await until(() => listening.count === 0, 'every request has ended')
  await until(() => lookouts() === 0, 'no thread')
  assert.deepEqual(responses.map(listeners), counts)
  await until(() => JSON.stringify(descriptors()) === JSON.stringify(before), 'nothing is left')
  await until(() => timers() <= timersBefore, 'no timer is left')
})

test('ex_jrn_71_a_client_of_http2_that_has_gone_before_it_begins_leaves_nothing', async (t) => {
  const run = runFor(t)
  run.say(5)
  const ends = []
  const server = createHttp2Server((req, res) => {
    res.on('close', () => setImmediate(() => ends.push(pipeReplay(run.directory, res))))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const session = connectHttp2(`http://127.0.0.1:${server.address().port}`)
  t.after(() => {
    session.destroy()
    server.close()
  })
  const stream = session.request({ ':path': '/' }).on('error', () => {})
  await once(stream, 'ready')
  stream.close(8)
  await until(() => ends.length === 1)
  assert.equal((await ends[0]).how, 'disconnected')
  await until(() => lookouts() === 0, 'no thread')
})

test('ex_jrn_69_many_streams_of_one_http2_connection_get_every_row', async (t) => {
  const run = runFor(t)
  run.say(5)
  const ends = []
  const server = createHttp2Server((req, res) => { ends.push(pipeReplay(run.directory, res)) }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const session = connectHttp2(`http://127.0.0.1:${server.address().port}`)
  t.after(() => {
    session.destroy()
    server.close()
  })
  const streams = Array.from({ length: 12 }, (_, number) => {
    const [stream, events] = [session.request({ ':path': '/', 'last-event-id': String(number % 5) }), new Events()]
    stream.setEncoding('utf8').on('data', (text) => events.push(text)).on('error', () => {})
    return { stream, events, from: number % 5 }
  })
  await until(() => streams.every(({ events }) => events.lastId === '5'), 'every row')
  run.say(5)
  await until(() => streams.every(({ events }) => events.lastId === '10'), 'every row to come')
  // No row has the number zero, so that this client is told of a gap first.
  for (const { events, from } of streams) {
    assert.deepEqual(events.seen.map(({ id }) => id), [...(from === 0 ? [''] : []), ...ids(from + 1, 10)])
  }
  for (const { stream } of streams) stream.close()
  for (const { how } of await Promise.all(ends)) assert.equal(how, 'disconnected')
  await until(() => lookouts() === 0, 'no thread')
})

test('a_signal_ends_the_response_and_its_connection_serves_the_next_request', async (t) => {
  const run = runFor(t)
  run.say(3)
  const controller = new AbortController()
  const { port, ends } = await serverFor(t, (req, res) => {
    if (req.url === '/') return pipeReplay(run.directory, res, { signal: controller.signal })
    return res.end(String(req.socket.remotePort))
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const client = await clientFor(port, {}, agent)
  await until(() => client.events.seen.length === 3)
  const { localPort } = client.res.socket
  controller.abort(new Error('the server goes down'))
  await once(client.res, 'end')
  assert.deepEqual(await ends[0], { how: 'aborted', resumePoint: '3', error: null })
  const req = request({ port, host: '127.0.0.1', path: '/port', agent }).end()
  const [res] = await once(req, 'response')
  let text = ''
  for await (const part of res) text += part
  assert.equal(text, String(localPort))
})

test('every_other_end_is_told_too', async (t) => {
  const run = runFor(t)
  run.say(2)
  let frames
  const { server, port, ends, responses } = await serverFor(t, (req, res) => {
    frames = replay(run.directory)
    return pipeReplay(frames, res)
  })
  const open = async () => {
    const client = await clientFor(port)
    await until(() => client.events.lastId === '2')
    return client
  }
  const closed = await open()
  await frames.close()
  assert.deepEqual(await ends.at(-1), { how: 'closed', resumePoint: '2', error: null })
  await closed.closed
  // Somebody else ends the response while nothing comes, and while something does.
  await open()
  responses.at(-1).end()
  assert.equal((await ends.at(-1)).how, 'disconnected')
  await open()
  responses.at(-1).end()
  run.say(1)
  assert.equal((await ends.at(-1)).how, 'disconnected')
  const failing = await clientFor(port, {})
  await until(() => failing.events.lastId === '3')
  writeFileSync(join(run.directory, 'log-meta.json.new'), '{"version":9}')
  renameSync(join(run.directory, 'log-meta.json.new'), join(run.directory, 'log-meta.json'))
  const { how, resumePoint, error } = await ends.at(-1)
  assert.deepEqual([how, resumePoint, error.code], ['failed', '3', 'EXECUTION_VERSION'])
  await failing.closed
  run.projection.closeSync()
  rmSync(join(run.directory, 'log-meta.json'))
  await clientFor(port)
  server.closeAllConnections()
  assert.equal((await ends.at(-1)).how, 'disconnected')
  await until(() => lookouts() === 0, 'no thread')
})

test('ex_jrn_72_one_response_takes_one_replay_at_a_time', async (t) => {
  const run = runFor(t)
  run.say(3)
  const refused = []
  const { port } = await serverFor(t, async (req, res) => {
    if (req.url === '/again') await assert.rejects(pipeReplay(join(run.directory, 'nowhere'), res), { code: 'EXECUTION_UNKNOWN_RUN' })
    const piped = pipeReplay(run.directory, res)
    for (let at = 0; at < 2; at += 1) await pipeReplay(run.directory, res).catch((error) => refused.push(error.code))
    return piped
  })
  for (const path of ['/', '/again']) {
    const client = await clientFor(port, {}, undefined, path)
    await until(() => client.events.lastId === '3')
    assert.deepEqual(client.ids(), ids(1, 3), 'no row twice')
    client.req.destroy()
  }
  assert.deepEqual(refused, Array(4).fill('GALLIVANT_INPUT'))
})

test('what_cannot_begin_sends_nothing_so_that_the_caller_can_answer', async (t) => {
  const run = runFor(t)
  const directory = join(directoryFor(t), 'nowhere')
  const reason = new Error('enough')
  const { port, ends } = await serverFor(t, async (req, res) => {
    try {
      if (req.url === '/signal') return await pipeReplay(run.directory, res, { signal: AbortSignal.abort(reason) })
      if (req.url === '/late') {
        const controller = new AbortController()
        setImmediate(() => controller.abort(reason))
        const piped = pipeReplay(run.directory, res, { signal: controller.signal })
        controller.abort(reason)
        return await piped
      }
      return await pipeReplay(directory, res)
    } catch (error) {
      assert.ok(!res.headersSent)
      res.statusCode = error.code === 'EXECUTION_UNKNOWN_RUN' ? 404 : 503
      res.end(error.code ?? error.message)
      return error
    }
  })
  const ask = async (path) => {
    const [res] = await once(request({ port, host: '127.0.0.1', path, agent: false }).end(), 'response')
    let text = ''
    for await (const part of res) text += part
    return [res.statusCode, text, res.headers['content-type']]
  }
  assert.deepEqual(await ask('/'), [404, 'EXECUTION_UNKNOWN_RUN', undefined])
  assert.deepEqual(await ask('/signal'), [503, 'enough', undefined])
  assert.deepEqual(await ask('/late'), [503, 'enough', undefined])
  await Promise.all(ends)
  await assert.rejects(pipeReplay(run.directory, {}), { code: 'GALLIVANT_INPUT' })
  const response = { write() {}, setHeader() {}, on() {}, off() {}, end() {} }
  await assert.rejects(pipeReplay(run.directory, response, { id: '7' }), { code: 'GALLIVANT_INPUT' })
  const frames = replay(run.directory)
  await assert.rejects(pipeReplay(frames, response, { lastEventId: '7' }), { code: 'GALLIVANT_INPUT' })
  await frames.close()
  // Who has gone already is told of as gone, and nothing is opened.
  const gone = await pipeReplay(run.directory, { ...response, destroyed: true })
  assert.deepEqual(gone, { how: 'disconnected', resumePoint: null, error: null })
  await until(() => lookouts() === 0, 'no thread')
})

test('a_request_for_the_head_alone_gets_the_headers', async (t) => {
  const run = runFor(t)
  run.say(1)
  const { port, ends } = await serverFor(t, streaming(run))
  const [res] = await once(request({ port, host: '127.0.0.1', method: 'HEAD', agent: false }).end(), 'response')
  res.resume()
  await once(res, 'end')
  assert.deepEqual([res.statusCode, res.headers['content-type']], [200, 'text/event-stream'])
  assert.deepEqual(await ends[0], { how: 'closed', resumePoint: null, error: null })
})

test('ex_jrn_72_many_clients_of_a_live_log_each_get_every_row_once', { timeout: 120_000 }, async (t) => {
  const run = runFor(t)
  run.say(10)
  const { port, ends } = await serverFor(t, streaming(run))
  // Fewer than a hundred: other tests have watches meanwhile, and a user has 128 of them by default.
  const clients = await Promise.all(Array.from({ length: 25 }, () => clientFor(port)))
  for (let round = 0; round < 20; round += 1) {
    run.say(10)
    await pause(2)
  }
  await until(() => clients.every(({ events }) => events.lastId === '210'), 'every client', 60_000)
  for (const client of clients) assert.deepEqual(client.ids(), ids(1, 210))
  for (const { req } of clients) req.destroy()
  for (const { how } of await Promise.all(ends)) assert.equal(how, 'disconnected')
  await until(() => lookouts() === 0, 'no thread')
})
