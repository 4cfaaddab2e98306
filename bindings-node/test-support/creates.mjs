/** What the tests of idempotent creates share: stores, other processes that hold keys or the database, HTTP servers. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { join } from 'node:path'
import { IdempotencyStore } from '../lib/index.js'
import { directoryFor, startScript } from './seat.mjs'

export const NAME = ['things.create', ['org', 'ws']]

/** A store that is closed when the test ends. */
export async function storeFor(t, options, path = join(directoryFor(t), 'idempotency.db')) {
  const store = await IdempotencyStore.open(path, options)
  t.after(() => store.close())
  return store
}

/** Begins a create with a key, which has to be free. */
export async function reserved(store, key, body = 'body') {
  const begin = await store.begin(...NAME, key, body)
  if (begin.kind !== 'create') throw new Error(`the key is not free: ${begin.kind}`)
  return begin
}

/** Another process that holds the key `key`. `tell` sends it a word of `hold_claim.mjs`. */
export async function holdKey(t, path, key) {
  const { child, lines, exit } = await startScript(t, 'hold_claim.mjs', [path, key])
  return {
    async tell(word) {
      child.stdin.write(`${word}\n`)
      return (await lines.next()).value
    },
    async kill() {
      child.kill('SIGKILL')
      await exit
    },
  }
}

/** Another process that holds the database's write lock until `release` is called. */
export async function holdDatabase(t, path) {
  const script = `import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("BEGIN IMMEDIATE")
print("ready", flush=True)
sys.stdin.read()`
  const child = spawn('python3', ['-c', script, path], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return {
    async release() {
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}

/** A server over this listener, and its address. It ends with the test. */
export async function serverFor(t, listener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${server.address().port}` }
}

/** Sends one request. What comes back has its JSON too, where it is some. */
export async function send(url, key, body = '{"name":"a"}', { method = 'POST', headers = {}, signal } = {}) {
  const keyed = key === null ? {} : { 'idempotency-key': key }
  const sent = { 'content-type': 'application/json', ...keyed, ...headers }
  const response = await fetch(url, { method, body: method === 'GET' ? null : body, headers: sent, signal })
  const text = await response.text()
  const replayed = response.headers.get('idempotent-replayed')
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, text, replayed, json: isJson ? JSON.parse(text) : null }
}

/** A request of which only the head and a part of the body are sent. `destroy` leaves. */
export async function half(url, key, part = '{"na', length = 1000) {
  const headers = { 'idempotency-key': key, 'content-type': 'application/json', 'content-length': String(length) }
  const client = request(url, { method: 'POST', headers })
  client.on('error', () => {})
  await new Promise((resolve) => client.write(part, resolve))
  return client
}

/** Waits until something holds. */
export async function until(holds, what = 'it') {
  const started = performance.now()
  while (!(await holds())) {
    if (performance.now() - started > 60_000) throw new Error(`${what} did not come to hold`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
