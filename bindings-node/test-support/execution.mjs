/** What the tests of the execution layer share: a provider in memory with its transport, and boundaries over it. */

import { makeExecution } from '../lib/execution.js'

/** What the provider in memory can do. */
export const CAPABILITY = Object.freeze({
  provider: 'memory', transport: 'memory', location: 'remote',
  newDispatch: { available: true, reason: null },
  authentication: { scheme: 'none', secretNames: [] },
  environments: { required: false, allowed: null },
  models: 'refused', policies: { required: false, allowed: [] },
  preparation: { version: 1, boundary: 'memory:none', authority: 'text-only', environment: 'none' },
  continuation: 'native', observability: 'events', cancel: true, interrupt: false,
  cost: { reports: true, hardCap: false }, qualification: null,
})

/** A provider that makes one job for each key, and the transport to it. `now` tells the provider's time. */
export function memoryTransport(now = Date.now) {
  const jobs = new Map()
  const seen = []
  const job = (input) => {
    const known = [...jobs.values()].find(({ key, id }) => key === input.idempotencyKey || id === input.providerJobId)
    if (known !== undefined) return known
    const made = { key: input.idempotencyKey, id: `job-${jobs.size + 1}`, state: 'running', costUsd: null, events: [] }
    jobs.set(made.key, made)
    return made
  }
  const observed = ({ id, state, costUsd, events }) => ({
    providerJobId: id, turnId: `turn-${id}`, sessionId: `session-${id}`, state, observedAt: now(), events, costUsd,
  })
  const owned = ({ id }) => ({ providerJobId: id, turnId: `turn-${id}`, sessionId: `session-${id}` })
  const methods = {
    async prepare() { return { boundary: 'memory:none', authority: 'text-only', grant: { key: 'granted' } } },
    async submit(input) { return owned(job(input)) },
    async continue(input) { return { ...owned(job(input)), sessionId: input.sessionId } },
    async inspect(input) { return observed(job(input)) },
    async collect(input) {
      return { ...owned(job(input)), output: 'done', outcome: { finished: true, ok: true, exit: 0, cost: job(input).costUsd, denials: [] } }
    },
    async cancel(input) {
      job(input).state = 'cancelled'
      return { confirmed: true }
    },
    async lookup(input) {
      const known = jobs.get(input.idempotencyKey)
      return known === undefined ? null : observed(known)
    },
  }
  // Each method tells that it was called, and what it was called with.
  const transport = Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, async (input, call) => {
    seen.push({ name, input, call })
    return method(input, call)
  }]))
  return { jobs, seen, transport }
}

export function optionsFor(root, transport, more = {}) {
  return {
    root, taskId: 'task', provider: 'memory', account: 'me', budgetUsd: 8, health: 'external', capabilities: CAPABILITY,
    transport, ...more,
  }
}

/** A boundary that is closed when the test ends. */
export function boundaryFor(t, root, transport, more) {
  const execution = makeExecution(optionsFor(root, transport, more))
  t.after(() => execution.close())
  return execution
}

export const WORK = Object.freeze({ operationId: 'op-1', prompt: 'do it', reservationUsd: 0.5 })
