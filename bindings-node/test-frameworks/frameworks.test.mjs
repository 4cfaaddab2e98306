/**
 * The handler of `gallivant/http` in Express 4, Express 5 and Fastify: real servers, real clients at once. Needs them
 * installed, so `check.sh` runs it where the packed package is.
 */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { IdempotencyStore } from 'gallivant'
import { idempotent } from 'gallivant/http'

const require = createRequire(import.meta.url)
const NAME = ['things.create', ['org', 'user-1']]

/**
 * A server of each framework over one application: `make(request)` answers `{ status, headers, body }`, throws, or never
 * comes back. Each authenticates first, and sets a header of its own on every answer.
 */
const frameworks = {
  async express4(handler, make) { return express(require('express4'), handler, make) },
  async express5(handler, make) { return express(require('express5'), handler, make) },
  async fastify(handler, make) {
    const app = require('fastify')({ bodyLimit: 8 << 20, forceCloseConnections: true })
    app.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (request, body, done) => done(null, body))
    const authenticate = async (request, reply) => {
      request.user = 'user-1'
      reply.header('x-request', String(Math.random()))
    }
    app.post('/:org/things', { onRequest: [authenticate, handler] }, async (request, reply) => {
      const { status, headers, body } = await make(request)
      return reply.code(status).headers(headers).send(body)
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    return { port: app.server.address().port, close: () => app.close() }
  },
}

async function express(framework, handler, make) {
  const app = framework()
  const authenticate = (req, res, next) => {
    req.user = 'user-1'
    res.setHeader('x-request', String(Math.random()))
    next()
  }
  const parsers = [framework.json({ limit: '8mb' }), framework.raw({ limit: '8mb' }), framework.urlencoded({ extended: false })]
  app.post('/:org/things', authenticate, handler, ...parsers, (req, res, next) => {
    make(req).then(({ status, headers, body }) => res.status(status).set(headers).send(body)).catch(next)
  })
  app.use((error, req, res, next) => { res.status(error.status ?? 500).json({ error: error.message }) })
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: server.address().port, close: () => (server.close(), server.closeAllConnections()) }
}

async function serverFor(t, framework, make, options = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'gallivant-'))
  const store = await IdempotencyStore.open(join(directory, 'idempotency.db'))
  const made = []
  const handler = idempotent({
    store, operation: 'things.create', scope: ({ params, user }) => [params.org, user], ...options,
  })
  const { port, close } = await frameworks[framework](handler, async (request) => {
    made.push(request)
    return make(request, made.length)
  })
  t.after(async () => {
    await close()
    await store.close()
    rmSync(directory, { recursive: true })
  })
  const send = async (key, body, { type = 'application/json', signal, duplex } = {}) => {
    const headers = { 'content-type': type, ...(key === null ? {} : { 'idempotency-key': key }) }
    const response = await fetch(`http://127.0.0.1:${port}/org/things`, { method: 'POST', body, headers, signal, duplex })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, replayed: response.headers.get('idempotent-replayed') }
  }
  const state = async (key) => (await store.inspect(...NAME, key))?.state ?? null
  return { send, state, made, store }
}

async function until(holds) {
  for (let turn = 0; turn < 6000; turn += 1) {
    if (await holds()) return
    await pause(10)
  }
  throw new Error('it did not come to hold')
}

const created = (body) => ({ status: 201, headers: { location: '/org/things/1' }, body })

for (const framework of Object.keys(frameworks)) {
  test(`ik_01_thirty_two_clients_of_${framework}_get_one_thing`, async (t) => {
    const { send, made, store } = await serverFor(t, framework, async ({ body }, number) => {
      await pause(50)
      return created({ number, name: body.name })
    })
    const answers = await Promise.all(Array.from({ length: 32 }, () => send('k', '{"name":"ä"}')))
    assert.equal(made.length, 1)
    for (const { status, text, headers } of answers) {
      assert.deepEqual([status, JSON.parse(text), headers.get('location')], [201, { number: 1, name: 'ä' }, '/org/things/1'])
      assert.match(headers.get('content-type'), /^application\/json/)
    }
    assert.equal(answers.filter(({ replayed }) => replayed === 'true').length, 31)
    assert.equal(new Set(answers.map(({ headers }) => headers.get('x-request'))).size, 32, 'what is in front has its say')
    assert.equal((await store.inspect(...NAME, 'k')).resource, '/org/things/1')
    const each = await Promise.all(Array.from({ length: 32 }, (_, key) => send(`k-${key}`, '{"name":"b"}')))
    assert.deepEqual([new Set(each.map(({ text }) => text)).size, made.length], [32, 33])
  })

  test(`ik_03_${framework}_still_parses_what_was_fingerprinted`, async (t) => {
    const { send, made } = await serverFor(t, framework, async ({ body, rawBody }) => created({
      kind: Buffer.isBuffer(body) ? 'buffer' : typeof body, length: body?.length ?? body?.text?.length ?? null, raw: rawBody?.length,
    }))
    const large = 'x'.repeat(3 << 20)
    const sizes = [
      [`{"text":"${large}"}`, 'application/json', ['object', large.length]],
      [Buffer.from(large), 'application/octet-stream', ['buffer', large.length]],
    ]
    for (const [body, type, [kind, length]] of sizes) {
      const first = await send(type, body, { type })
      assert.deepEqual(JSON.parse(first.text), { kind, length, raw: body.length })
      const again = await send(type, body, { type })
      assert.deepEqual([again.status, again.text, again.replayed], [201, first.text, 'true'])
    }
    const stream = new Blob(['{"text":"parts"}']).stream()
    assert.equal(JSON.parse((await send('stream', stream, { duplex: 'half' })).text).length, 5)
    assert.equal((await send('stream', '{"text":"parts"}')).replayed, 'true')
    assert.equal(JSON.parse((await send(null, '{"text":"none"}')).text).length, 4)
    assert.equal(made.length, 4)
    // Whatever the framework says of a body that is none, it says it, and the key is not left behind.
    for (const [key, body] of [['empty', ''], ['parts', new Blob(['']).stream()]]) {
      const answer = await send(key, body, { duplex: 'half', signal: AbortSignal.timeout(60_000) })
      assert.ok([201, 400].includes(answer.status), `${key} ${answer.status} ${answer.text}`)
    }
  })

  test(`ik_02_ik_05_${framework}_s_errors_free_the_key_and_refusals_are_problems`, async (t) => {
    let fails = true
    const { send, state, made } = await serverFor(t, framework, async () => {
      if (fails) throw new Error('not today')
      return created({})
    }, { bodyLimit: 1000 })
    assert.equal((await send('k', '{"a":1}')).status, 500)
    assert.equal(await state('k'), null)
    assert.equal((await send('k', '{"a":')).status, 400, 'the parser refuses it')
    assert.equal(await state('k'), null)
    fails = false
    assert.equal((await send('k', '{"a":1}')).status, 201)
    for (const [key, body, status, code] of [
      ['k', '{"a":2}', 409, 'idempotency_key_reused'], ['k k', '{}', 400, 'idempotency_key_invalid'],
      ['large', 'x'.repeat(1001), 413, 'content_too_large'],
    ]) {
      const answer = await send(key, body)
      assert.deepEqual([answer.status, JSON.parse(answer.text).code], [status, code])
      assert.equal(answer.headers.get('content-type'), 'application/problem+json')
    }
    assert.equal(made.length, 2)
  })

  test(`ik_05_clients_that_leave_${framework}_in_the_middle_leave_no_reservation`, async (t) => {
    const runs = []
    const { send, state, made } = await serverFor(t, framework, async ({ idempotency }, number) => {
      if (number % 2) await idempotency.effectStarting()
      await new Promise((resolve) => runs.push(resolve))
      return created({ number })
    })
    const controller = new AbortController()
    const keys = Array.from({ length: 16 }, (_, number) => `k-${number}`)
    const left = Promise.allSettled(keys.map((key) => send(key, '{}', { signal: controller.signal })))
    const waiting = Promise.allSettled(keys.map((key) => send(key, '{}', { signal: controller.signal })))
    await until(() => runs.length === 16)
    controller.abort()
    for (const { status } of [...(await left), ...(await waiting)]) assert.equal(status, 'rejected')
    for (const key of keys) assert.match(await state(key), /reserved|marked/)
    for (const run of runs) run()
    for (const key of keys) await until(async () => (await state(key)) === 'finished')
    const again = await Promise.all(keys.map((key) => send(key, '{}')))
    assert.ok(again.every(({ status, replayed }) => status === 201 && replayed === 'true'))
    assert.equal(made.length, 16)
  })
}

/** The programs of the guide, beside this file, that are in a framework, each with the name that it is installed by. */
function guide() {
  const text = readFileSync(new URL('guide.md', import.meta.url), 'utf8')
  const blocks = [...text.matchAll(/^```js\n([^]*?)^```$/gm)].map(([, block]) => block)
  return Object.keys(frameworks).map((installed) => {
    const name = installed.replace(/\d$/, '')
    const [block, ...others] = blocks.filter((one) => one.includes(`from '${name}'`))
    assert.deepEqual([typeof block, others], ['string', []], name)
    return [installed, block.replace(`from '${name}'`, `from '${installed}'`)]
  })
}

test('ik_01_the_guide_s_servers_make_one_thing_for_many_clients', { timeout: 180_000 }, async (t) => {
  for (const [installed, block] of guide()) {
    const directory = mkdtempSync(join(tmpdir(), 'gallivant-'))
    const probe = createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const { port } = probe.address()
    probe.close()
    await once(probe, 'close')
    const program = block.replaceAll("'/srv/", `'${directory}/`)
    const env = { ...process.env, PORT: String(port) }
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { env, stdio: 'inherit' })
    t.after(() => {
      child.kill('SIGKILL')
      rmSync(directory, { recursive: true })
    })
    // Express listens on every address, Fastify on `localhost`.
    const headers = { 'content-type': 'application/json', 'x-user': 'u-1', 'idempotency-key': 'k' }
    const send = () => fetch(`http://localhost:${port}/org/things`, { method: 'POST', body: '{"name":"a"}', headers })
    await until(() => send().then(() => true, () => false))
    const answers = await Promise.all(Array.from({ length: 16 }, async () => (await send()).text()))
    assert.deepEqual([...new Set(answers)], ['{"id":"thing-1","name":"a"}'], installed)
  }
})
