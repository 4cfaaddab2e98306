/** The example's coordinator, as a process of its own over the provider of hosted agents. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PROJECT } from './seat.mjs'

const PROGRAM = join(PROJECT, 'examples', 'node-coordinator', 'serve.mjs')

/** A coordinator over a root, with these options; `kill` ends it without a word, `start` begins it anew. It ends with the test. */
export async function coordinatorFor(t, root, provider, more = []) {
  const coordinator = { url: null, child: null, said: '' }
  coordinator.start = async (port = '0') => {
    const args = [PROGRAM, root, provider.address, '--port', port, '--progress-ms', '1000', ...more]
    coordinator.child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, HOSTED_AGENTS_KEY: 'the-key-of-a-test' },
    })
    coordinator.child.stderr.setEncoding('utf8').on('data', (text) => { coordinator.said += text })
    const { value } = await createInterface({ input: coordinator.child.stdout })[Symbol.asyncIterator]().next()
    coordinator.url = /^ready (\S+)$/.exec(value ?? coordinator.said)[1]
  }
  coordinator.end = async (signal) => {
    coordinator.child.kill(signal)
    return once(coordinator.child, 'exit')
  }
  coordinator.ask = async (path, body, headers = {}) => {
    const sent = body && { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(new URL(path, coordinator.url), {
      ...sent, headers: { 'content-type': 'application/json', connection: 'close', ...headers },
    })
    return { status: response.status, body: await response.json() }
  }
  coordinator.create = (key, prompt = 'do it', budgetUsd = 1) => coordinator.ask('/tasks', { prompt, budgetUsd }, { 'idempotency-key': key })
  coordinator.task = async (id) => (await coordinator.ask(`/tasks/${id}`)).body
  /** Waits until a task is as it is wanted, and gives it. */
  coordinator.until = async (id, isWanted) => {
    const deadline = performance.now() + 150_000
    for (;;) {
      const task = await coordinator.task(id)
      if (isWanted(task)) return task
      assert.ok(performance.now() < deadline, `${JSON.stringify(task)}\n${coordinator.said}`)
      await new Promise((resolve) => { setTimeout(resolve, 25) })
    }
  }
  t.after(async () => {
    if (coordinator.child.exitCode === null && coordinator.child.signalCode === null) await coordinator.end('SIGKILL')
  })
  await coordinator.start()
  return coordinator
}
