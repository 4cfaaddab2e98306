/**
 * Rows of the execution layer from Node: node execution_rows.mjs ROW DIRECTORY. `execution.py` starts it and says what the rows are.
 *
 * `hop`, `stepped` and `driven` say `ready`, then make as many operations as each line of standard input says and answer how many
 * nanoseconds they took: by the clock, by the processor, and by the processor for the event loop's thread alone. `crowd` runs once
 * and says its figures as JSON.
 */

import { randomFill } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { makeExecution } from '../bindings-node/lib/execution.js'
import native from '../bindings-node/lib/native.js'

const RUNS = 100
/** How long each of the crowd's calls is with its provider, in milliseconds, and how many calls each makes. */
const METHOD_MS = 50
const CALLS = 10
/** How many operations come before the first that is measured. */
const WARM = 2000
/** When the timer of an event loop rings that has nothing else to wait for, in milliseconds. */
const FAR_MS = 3_600_000

const CAPABILITY = {
  provider: 'bench', transport: 'memory', location: 'remote', newDispatch: { available: true, reason: null },
  authentication: { scheme: 'none', secretNames: [] }, environments: { required: false, allowed: null }, models: 'refused',
  policies: { required: false, allowed: [] }, preparation: null, continuation: 'none', observability: 'states', cancel: false,
  interrupt: false, cost: { reports: true, hardCap: false },
}
const IDS = { providerJobId: 'job-1', turnId: 'turn-1' }
const observed = () => ({ ...IDS, state: 'running', observedAt: Date.now(), events: [] })

async function taskIn(root, inspect) {
  const transport = { submit: async () => IDS, inspect, collect: async () => null }
  const execution = makeExecution({
    root, taskId: 'task', provider: 'bench', account: 'me', budgetUsd: 8, health: 'external', capabilities: CAPABILITY, transport,
  })
  await execution.submit({ operationId: 'op-1', prompt: 'do it', reservationUsd: 0.5 })
  return execution
}

/** As the method of a transport. */
async function inspectNow() { return observed() }

const rows = {
  /** A bare hop to a worker of libuv's pool and back. */
  async hop() {
    const byte = Buffer.alloc(1)
    return () => new Promise((resolve) => { randomFill(byte, resolve) })
  },
  /** The steps as the native module has them. */
  async stepped(root) {
    const execution = await taskIn(root, inspectNow)
    const boundary = execution[native.NATIVE]
    const { value: call } = boundary.call('reconcile', '{}')
    return async () => {
      call.renew('reconcile', JSON.stringify({ force: true }))
      const [id, , , , input] = await call.startAsync(false)
      const reply = await inspectNow(JSON.parse(input))
      return JSON.parse(await call.replyAsync(id, JSON.stringify(reply), false))
    }
  },
  async driven(root) {
    const execution = await taskIn(root, inspectNow)
    return () => execution.reconcile({ force: true })
  },
}

const CELL = new Int32Array(new SharedArrayBuffer(4))

/** How many nanoseconds of the processor this thread has had. The system counts them when it sleeps, or else every few milliseconds. */
function workedNs() {
  Atomics.wait(CELL, 0, 0, 0.001)
  return Number(readFileSync('/proc/self/schedstat', 'latin1').split(' ', 1)[0])
}

/**
 * How long the event loop was held between two turns of a timer: by the clock, and by what this thread has worked meanwhile, which
 * is the stretch without what other programs took of the machine.
 */
function watchLoop() {
  let [last, before, loopMs, workMs] = [performance.now(), workedNs() / 1e6, 0, 0]
  const timer = setInterval(() => {
    const [now, work] = [performance.now(), workedNs() / 1e6]
    loopMs = Math.max(loopMs, now - last - 1)
    workMs = Math.max(workMs, work - before)
    ;[last, before] = [now, work]
  }, 1)
  return {
    end() {
      clearInterval(timer)
      return { loopMs, workMs }
    },
  }
}

/** A hundred runs at once, one of which hangs: how long a call takes beyond its provider's time, and what the event loop feels. */
async function crowd(root) {
  let hangs = false
  const slow = async () => {
    await pause(METHOD_MS)
    return observed()
  }
  const tasks = []
  for (let at = 0; at < RUNS; at += 1) {
    tasks.push(await taskIn(join(root, String(at)), at > 0 ? slow : async (_, { signal }) => {
      if (hangs) await pause(60_000, null, { signal }).catch(() => {})
      return observed()
    }))
  }
  hangs = true
  const over = new AbortController()
  const hung = tasks[0].reconcile({ force: true }, { signal: over.signal }).catch(() => {})
  const times = []
  const loop = watchLoop()
  const began = performance.now()
  await Promise.all(tasks.slice(1).map(async (task, number) => {
    // Runs do not all begin in one turn of the loop.
    await pause(number * METHOD_MS / RUNS)
    for (let at = 0; at < CALLS; at += 1) {
      const start = performance.now()
      await task.reconcile({ force: true })
      times.push(performance.now() - start - METHOD_MS)
    }
  }))
  const allMs = performance.now() - began
  const held = loop.end()
  over.abort()
  await hung
  times.sort((one, other) => one - other)
  const at = (share) => times[Math.floor((times.length - 1) * share)]
  console.log(JSON.stringify({ allMs, medianMs: at(0.5), p99Ms: at(0.99), mostMs: at(1), ...held }))
  for (const task of tasks) await task.close()
}

const [row, root] = process.argv.slice(2)
if (row === 'crowd') await crowd(root)
else {
  // As in every coordinator: the system then waits with a timer too.
  setTimeout(() => {}, FAR_MS).unref()
  const run = await rows[row](root)
  // The engine compiles what has run often, which a coordinator has behind it.
  for (let left = WARM; left > 0; left -= 1) await run()
  console.log('ready')
  for await (const line of createInterface({ input: process.stdin })) {
    const [started, before, worked] = [process.hrtime.bigint(), process.cpuUsage(), workedNs()]
    for (let left = Number(line); left > 0; left -= 1) await run()
    const { user, system } = process.cpuUsage(before)
    console.log(`${process.hrtime.bigint() - started} ${(user + system) * 1000} ${workedNs() - worked}`)
  }
}
