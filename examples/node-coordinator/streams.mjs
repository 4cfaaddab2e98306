/**
 * The output of several runs on one connection, as server-sent events: a browser has six connections to a server, and a page
 * that shows ten runs has to leave some for its clicks.
 *
 * Each event is a row's, with the task that it is of. Its id is where all of them stand (`A=12,B=40`), so that a browser that
 * reconnects says it by itself, and every run goes on just after its own last row.
 */

import { setTimeout as pause } from 'node:timers/promises'

// In a program of your own: from 'gallivant/journal'
import { replay, serverSentEvent } from '../../bindings-node/lib/journal.js'

/** A run that has no directory yet is looked for so often, in milliseconds. */
const LOOK_MS = 250

/** Ids of tasks and rows hold neither of the two separators. */
export const positionsOf = (text) => new Map(text.split(',').filter(Boolean).map((part) => part.split('=')))
const textOf = (positions) => [...positions].map(([id, row]) => `${id}=${row}`).join(',')

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
  const wanted = new Map([...positions].filter(([id]) => tasks.some((task) => task.id === id)))
  await Promise.all(tasks.map((task) => pipeOne(task, wanted, response, ending).catch((error) => {
    if (!ending.aborted) report(`${task.id}: ${error.message}`)
    // Where a run's output cannot be read now, the browser comes again.
    left.abort()
  })))
  response.end()
}

async function pipeOne(task, positions, response, ending) {
  while (task.directory === null || !(await written(task, positions, response, ending))) {
    if (ending.aborted) return
    await pause(LOOK_MS, null, { signal: ending }).catch(() => {})
  }
}

/** Whether there was a run to be written. Resolves at the end. */
async function written(task, positions, response, ending) {
  try {
    for await (const { id, event, data } of replay(task.directory, { lastEventId: positions.get(task.id), signal: ending })) {
      if (id !== null) positions.set(task.id, id)
      const row = event === 'heartbeat' ? '' : `{"task":${JSON.stringify(task.id)},"row":${data}}`
      if (!response.write(serverSentEvent({ id: id === null ? null : textOf(positions), event, data: row }))) await drained(response, ending)
      if (ending.aborted) return true
    }
    return true
  } catch (error) {
    if (error.code === 'EXECUTION_UNKNOWN_RUN') return false
    if (ending.aborted) return true
    throw error
  }
}

/** Waits until the response takes more, or until the end. */
function drained(response, ending) {
  return new Promise((resolve) => {
    const over = () => {
      response.off('drain', over)
      ending.removeEventListener('abort', over)
      resolve()
    }
    response.on('drain', over)
    ending.addEventListener('abort', over, { once: true })
    if (ending.aborted) over()
  })
}
