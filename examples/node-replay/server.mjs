#!/usr/bin/env node
/**
 * Shows the output of runs in a browser: one page, and for each run a stream of server-sent events.
 *
 *     node server.mjs RUNS [PORT]      RUNS is the directory with one directory a run; PORT is 8080
 *
 *     http://127.0.0.1:8080/?run=NAME
 *
 * It only reads. It listens to this machine alone and asks nobody who he is: put it behind whatever does.
 */

import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// In a program of your own: import { pipeReplay } from 'gallivant/journal'
import { pipeReplay } from '../../bindings-node/lib/journal.js'

const PAGE = fileURLToPath(new URL('page.html', import.meta.url))
/** A name is one directory, and none that begins with a dot. */
const EVENTS = /^\/runs\/(\w[\w.-]*)\/events$/

const [runs, port = '8080'] = process.argv.slice(2)
if (runs === undefined) {
  console.error('usage: server.mjs RUNS [PORT]')
  process.exit(2)
}

const ending = new AbortController()

async function answer(request, response) {
  const { pathname } = new URL(request.url, 'http://localhost')
  const run = EVENTS.exec(pathname)?.[1]
  if (request.method !== 'GET') return response.writeHead(405, { allow: 'GET' }).end()
  if (run !== undefined) return events(run, response)
  if (pathname !== '/') return response.writeHead(404).end()
  const page = await readFile(PAGE)
  return response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page)
}

/** Streams a run until the browser goes away. One that reconnects says what it has, and goes on there. */
async function events(run, response) {
  // Once it has ended, its connection must not keep a server that goes down.
  response.setHeader('connection', 'close')
  try {
    const { how, error } = await pipeReplay(join(runs, run), response, { signal: ending.signal })
    if (how === 'failed') console.error(`${run}: ${error.message}`)
  } catch (error) {
    // Nothing was sent. At any answer but 200 a browser gives up; a connection that breaks it makes again.
    if (error.code === 'EXECUTION_UNKNOWN_RUN') return response.writeHead(404).end()
    if (error !== ending.signal.reason) console.error(`${run}: ${error.message}`)
    response.destroy()
  }
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error.message)
    response.destroy()
  })
})
server.listen(Number(port), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/?run=NAME`))

for (const name of ['SIGINT', 'SIGTERM']) {
  process.once(name, () => {
    // The streams end, and then nothing keeps the server.
    ending.abort()
    server.close()
  })
}
