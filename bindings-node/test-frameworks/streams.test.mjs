/**
 * `pipeReplay` in Express 4, Express 5 and Fastify. Needs them installed, so `check.sh` runs it where the packed package is.
 */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Journal, Projection, pipeReplay } from 'gallivant/journal'
import { Redactor } from 'gallivant/redaction'

const require = createRequire(import.meta.url)

/** A server of each framework that streams one run; `ended` is told how. */
const frameworks = {
  express4: (run, ended) => express(require('express4'), run, ended),
  express5: (run, ended) => express(require('express5'), run, ended),
  async fastify(run, ended) {
    const app = require('fastify')({ forceCloseConnections: true })
    app.get('/events', (asked, reply) => {
      reply.hijack()   // the response is written here, and not by the framework
      ended(pipeReplay(run, reply.raw))
    })
    await app.listen({ port: 0, host: '127.0.0.1' })
    return { port: app.server.address().port, close: () => app.close() }
  },
}

async function express(framework, run, ended) {
  const app = framework()
  app.get('/events', (req, res) => { ended(pipeReplay(run, res)) })
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: server.address().port, close: () => (server.close(), server.closeAllConnections()) }
}

for (const framework of Object.keys(frameworks)) {
  test(`ex_jrn_69_ex_jrn_71_a_run_is_streamed_by_${framework}`, async (t) => {
    const run = mkdtempSync(join(tmpdir(), 'gallivant-'))
    const journal = Journal.openSync(run, { taskId: 't', runId: 'r', provider: 'p' }, new Redactor())
    const projection = Projection.openSync(run)
    const say = (...texts) => {
      journal.appendSync(texts.map((text) => ({ id: text, provenance: 'local', type: 'message', data: text })))
      projection.catchUpSync()
    }
    say('one', 'two')
    const ends = []
    const { port, close } = await frameworks[framework](run, (end) => { ends.push(end) })
    t.after(async () => {
      await close()
      rmSync(run, { recursive: true, force: true })
    })
    const req = request({ port, host: '127.0.0.1', path: '/events', headers: { 'last-event-id': '1' } }).end()
    req.on('error', () => {})
    const [res] = await once(req, 'response')
    assert.deepEqual([res.statusCode, res.headers['content-type']], [200, 'text/event-stream'])
    let text = ''
    res.setEncoding('utf8').on('data', (part) => { text += part }).on('error', () => {})
    while (!text.includes('\n\n')) await once(res, 'data')
    say('three')
    while (!text.includes('id: 3\n')) await once(res, 'data')
    assert.deepEqual([...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => id), ['2', '3'])
    req.destroy()
    assert.deepEqual(await ends[0], { how: 'disconnected', resumePoint: '3', error: null })
  })
}
