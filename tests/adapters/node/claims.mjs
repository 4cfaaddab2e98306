/**
 * The conformance adapter of idempotent creates over the Node package. The protocol is in
 * tests/vectors/idempotency/README.md: one JSON request a line in, one JSON answer a line out.
 */

import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Fingerprint, GallivantError, IdempotencyStore } from '../../../bindings-node/lib/index.js'
import { TestHost } from '../../../bindings-node/lib/testing.js'

const OPTIONS = { window_ms: 'windowMs', max_reservation_ms: 'maxReservationMs', max_answer_bytes: 'maxAnswerBytes', busy_ms: 'busyMs' }

/** What `open` sets. A store that could not be opened is the refusal. */
const run = { store: null, machine: null, named: new Map() }

const input = { ok: false, error: 'INPUT' }
const unsupported = { ok: false, error: 'UNSUPPORTED' }
const bytes = (hex) => Buffer.from(hex ?? '', 'hex')
const hex = (answer) => (answer === null ? null : Buffer.from(answer).toString('hex'))

const operations = {
  async open({ dir, now_ms: nowMs, options = {} }) {
    for (const { abandon } of run.named.values()) await abandon?.()
    run.named.clear()
    if (run.store instanceof IdempotencyStore) await run.store.close()
    run.store = null
    if (![undefined, 'sqlite'].includes(options.engine)) throw unsupported
    run.machine = new TestHost({ wallMs: nowMs, machine: options.host, boot: options.boot })
    run.machine.standAt(nowMs ?? 0)
    const set = { host: run.machine.host }
    for (const [given, name] of Object.entries(OPTIONS)) if (options[given] !== undefined) set[name] = options[given]
    try {
      run.store = await IdempotencyStore.open(join(dir, 'idempotency.db'), set)
    } catch (error) {
      run.store = error
      throw error
    }
    return {}
  },

  clock({ now_ms: nowMs, slept_ms: sleptMs }) {
    run.machine.standAt(nowMs ?? 0, sleptMs ?? 0)
    if (sleptMs !== undefined && run.store instanceof IdempotencyStore) run.store.noticeSleep()
    return {}
  },

  async begin({ id, operation, scope, key, body, body_parts: parts, ...request }) {
    const sent = parts === undefined ? bytes(body) : await Fingerprint.from(parts.map(bytes))
    return name(id, await storeOf().begin(operation, scope, key, sent, deadlineOf(request)))
  },

  async wait({ id, deadline_ms: deadlineMs }) {
    return name(id, await named(id, 'in_progress').wait({ deadlineMs }))
  },

  async recreate({ id, ...request }) {
    return name(id, await named(id, 'replay').recreate(deadlineOf(request)))
  },

  async settle({ id, found, ...request }) {
    return name(id, await named(id, 'unknown').settle(found, deadlineOf(request)))
  },

  async complete({ id, resource, answer, ...request }) {
    await named(id, 'create').complete(resource, bytes(answer), deadlineOf(request))
    return {}
  },

  async release({ id, ...request }) {
    await named(id, 'create').release(deadlineOf(request))
    return {}
  },

  async effect_starting({ id, ...request }) {
    await named(id, 'create').effectStarting(deadlineOf(request))
    return {}
  },

  async keep_alive({ id, ...request }) {
    await named(id, 'create').keepAlive(deadlineOf(request))
    return {}
  },

  async abandon({ id }) {
    const dropped = run.named.get(id)
    run.named.delete(id)
    await dropped?.[Symbol.asyncDispose]?.()
    return {}
  },

  async inspect({ operation, scope, key }) {
    const claim = await storeOf().inspect(operation, scope, key)
    return { claim: claim && { ...claim, answer: hex(claim.answer) } }
  },

  async sweep() {
    const { removed, hasMore } = await storeOf().sweep()
    return { removed: Number(removed), more: hasMore }
  },

  async capability() {
    if (run.store instanceof GallivantError) return { keyed_creates: false, reason: run.store.code }
    const { keyedCreates, error } = await storeOf().capability()
    return { keyed_creates: keyedCreates, reason: error?.code ?? null }
  },

  fill({ operation = 'things.create', scope = ['org', 'ws'], prefix, from = 0, count }) {
    for (let number = from; number < from + count; number += 1) {
      const key = `${prefix}${number}`
      const begin = storeOf().beginSync(operation, scope, key, '')
      if (begin.kind !== 'create') throw input
      begin.completeSync(key, new Uint8Array(1))
    }
    return {}
  },

  async many({ count, request }) {
    const one = (_, number) => answer({ ...request, id: `${request.id}.${number}` })
    return { answers: await Promise.all(Array.from({ length: count }, one)) }
  },

  in_child() { throw unsupported },
}

function deadlineOf({ deadline_ms: deadlineMs }) {
  return { deadlineMs }
}

function storeOf() {
  if (!(run.store instanceof IdempotencyStore)) throw run.store ?? input
  return run.store
}

function named(id, kind) {
  const found = run.named.get(id)
  if (found?.kind !== kind) throw input
  return found
}

/** Gives an answer the id, and tells it. What had the id is dropped. */
async function name(id, begin) {
  const replaced = run.named.get(id)
  run.named.set(id, begin)
  await replaced?.abandon?.()
  const told = { begin: begin.kind, how: begin.how }
  return begin.kind === 'replay' ? { ...told, resource: begin.resource, answer: hex(begin.answer) } : told
}

function refusalOf(error) {
  if (!(error instanceof GallivantError)) {
    if (error?.ok === false) return error
    throw error
  }
  const { code, remedy, message, reason, resource, file } = error
  return { ok: false, error: code, remedy, message, reason, resource, file }
}

async function answer(request) {
  try {
    return { ok: true, ...(await (operations[request.op] ?? (() => { throw input }))(request)) }
  } catch (error) {
    return refusalOf(error)
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() !== '') process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`)
}
