/**
 * The output of several runs on one connection, as server-sent events: a browser has six connections to a server, and a page
 * that shows ten runs has to leave some for its clicks.
 *
 * Each event is a row, with the task that it is of. Its id is where all of them stand, in the order in which they were asked for
 * (`12,40,`), so that a browser that reconnects says it by itself, and every run goes on just after its own last row.
 */

import { setTimeout as pause } from 'node:timers/promises'

// In a program of your own: from 'gallivant/journal'
import { replay, serverSentEvent } from '../../bindings-node/lib/journal.js'

/** A run that has no directory yet is looked for so often, in milliseconds. */
const LOOK_MS = 250

/** Where each of so many runs stands, out of such an id. What is no row's number is nothing. */
export function positionsOf(text, count) {
  const rows = text.split(',')
  return Array.from({ length: count }, (_, at) => (/^\d+$/.test(rows[at] ?? '') ? rows[at] : undefined))
}

/** Streams the tasks' output until the browser goes away or the signal fires. `positions` is where each is to go on. */
export async function pipeOutputs(tasks, positions, response, { signal, report }) {
  const left = new AbortController()
  const ending = AbortSignal.any([left.signal, signal])
  for (const name of ['close', 'error']) response.on(name, () => left.abort())
  // Once it has ended, its connection must not keep a server that goes down.
  response.writeHead(200, {
    'content-type': 'text/event-stream', 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no', connection: 'close',
  })
  response.flushHeaders()
  const out = new Out(response, ending)
  await Promise.all(tasks.map((task, at) => pipeOne({ task, at, positions, out, ending }).catch((error) => {
    if (!ending.aborted) report(`${task.id}: ${error.message}`)
    // Where a run's output cannot be read now, the browser comes again.
    left.abort()
  })))
  response.end()
}

/** What is said in one turn of the event loop goes out in one piece. */
class Out {
  #text = ''
  #response
  #ending
  #drained = null

  constructor(response, ending) {
    this.#response = response
    this.#ending = ending
  }

  /** Takes an event. Resolves when the next one may come: at the pace of whoever reads. */
  write(event) {
    if (this.#text === '') setImmediate(() => this.#flush())
    this.#text += event
    return this.#drained
  }

  #flush() {
    if (!this.#response.write(this.#text)) this.#drained ??= this.#waitForRoom()
    this.#text = ''
  }

  #waitForRoom() {
    return new Promise((resolve) => {
      const over = () => {
        this.#response.off('drain', over)
        this.#ending.removeEventListener('abort', over)
        this.#drained = null
        resolve()
      }
      this.#response.on('drain', over)
      this.#ending.addEventListener('abort', over, { once: true })
      if (this.#ending.aborted) over()
    })
  }
}

async function pipeOne(stream) {
  const { task, ending } = stream
  while (task.directory === null || !(await written(stream))) {
    if (ending.aborted) return
    await pause(LOOK_MS, null, { signal: ending }).catch(() => {})
  }
}

/** Whether there was a run to be written. Resolves at the end. */
async function written({ task, at, positions, out, ending }) {
  const name = JSON.stringify(task.id)
  try {
    for await (const { id, event, data } of replay(task.directory, { lastEventId: positions[at], signal: ending })) {
      if (id !== null) positions[at] = id
      const row = event === 'heartbeat' ? '' : `{"task":${name},"row":${data}}`
      await out.write(serverSentEvent({ id: id === null ? null : positions.join(','), event, data: row }))
      if (ending.aborted) return true
    }
    return true
  } catch (error) {
    if (error.code === 'EXECUTION_UNKNOWN_RUN') return false
    if (ending.aborted) return true
    throw error
  }
}
