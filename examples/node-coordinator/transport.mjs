/**
 * A transport to a provider of hosted agents over its REST interface: what an adapter of your own may look like. The provider
 * here is the small one of `tests/hosted-agents/server.mjs`.
 *
 * The boundary asks for each method once. Nothing here repeats a request, keeps a connection or runs by itself. What the members
 * of an acknowledgement, an observation and a result mean is in `docs/guides/transport.md`.
 */

import http from 'node:http'
import https from 'node:https'
// In a program of your own: from 'gallivant/execution'
import { TransportError, dispatchNotSentError, fittingEvents } from '../../bindings-node/lib/execution.js'

/** What the provider can do. */
export const CAPABILITIES = Object.freeze({
  provider: 'hosted-agents',
  transport: 'rest',
  location: 'remote',
  newDispatch: { available: true, reason: null },
  authentication: { scheme: 'bearer', secretNames: ['HOSTED_AGENTS_KEY'] },
  environments: { required: false, allowed: null },
  models: 'native',
  policies: { required: false, allowed: [] },
  preparation: null,
  continuation: 'native',
  observability: 'events',
  cancel: true,
  interrupt: false,
  cost: { reports: true, hardCap: false },
})

/** The provider's words for a turn, as states of a run. A word that is not known is no news, and never an end. */
const STATES = new Map([
  ['queued', 'queued'], ['running', 'running'], ['waiting', 'waiting-for-input'], ['succeeded', 'succeeded'], ['failed', 'failed'],
  ['cancelled', 'cancelled'],
])

const ENDS = new Set(['succeeded', 'failed', 'cancelled'])

/** Beyond the longest reply that the boundary takes, no more is read: a provider that never stops talking fills no memory. */
const BEYOND = 65_536

/**
 * One request on a connection of its own, which is closed when this has ended, however it has. `fetch` is not for this: after an
 * abort it connects once more and keeps that connection for seconds. `node:http` follows no redirect and repeats nothing.
 */
async function exchange(url, { method, headers, body, signal }, most) {
  const { request } = url.protocol === 'https:' ? https : http
  const asked = request(url, { method, headers, signal, agent: false })
  try {
    const response = await new Promise((resolve, reject) => {
      asked.on('response', resolve).on('error', reject).end(body)
    })
    const chunks = []
    let length = 0
    for await (const chunk of response) {
      length += chunk.byteLength
      if (length > most) throw new TransportError('protocol', "the provider's answer is longer than any that is taken")
      chunks.push(chunk)
    }
    return { status: response.statusCode, headers: response.headers, text: Buffer.concat(chunks).toString('utf8') }
  } finally {
    asked.destroy()
  }
}

/** As many of the events as one page takes. What is left is asked for by the cursor of the last one that is kept. */
function paged(events, { next, more }, limits) {
  let kept = fittingEvents(events, limits)
  if (kept === 0 && events.length > 0) {
    // Too long for any page, and without its beginning nothing would ever come after it.
    const beginning = JSON.stringify(events[0].data).slice(0, limits.eventPageBytes / 8).toWellFormed()
    events = [{ ...events[0], data: { cut: beginning } }, ...events.slice(1)]
    kept = 1
  }
  const isWhole = kept === events.length
  return { events: events.slice(0, kept), cursor: isWhole ? next : events[kept - 1].sequence, more: more || !isWhole }
}

/**
 * A transport to the provider at `address`, with its key. `place` is where a task's work belongs, `{repo, branch}`, which the
 * provider is told of with the revision to begin from, and names in its result; null for a task that leaves nothing behind.
 */
export function hostedAgents({ address, key, place = null }) {
  /** One request. Null stands for a 404 where the caller says that it may be. */
  async function ask(method, path, call, { body, idempotencyKey, mayBeMissing = false } = {}) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey
    const request = { method, headers, signal: call.signal, body: body === undefined ? undefined : JSON.stringify(body) }
    const { status, headers: told, text } = await exchange(new URL(path, address), request, call.limits.resultBytes + BEYOND)
    if (status === 404 && mayBeMissing) return null
    if (status === 401 || status === 403) throw new TransportError('auth', 'the provider does not accept the key')
    if (status === 429 || status === 503) {
      // A number, and not the header's text, which would be ignored.
      const retryAfterMs = Number(told['retry-after'] ?? Number.NaN) * 1000
      throw new TransportError('rate', `the provider asks for patience, status ${status}`, { retryAfterMs })
    }
    if (status < 200 || status > 299) throw new TransportError('io', `the provider answers with status ${status}`)
    try {
      return JSON.parse(text)
    } catch (cause) {
      throw new TransportError('protocol', 'the provider answers with no JSON', { cause })
    }
  }

  /** Nothing was sent before this, so that it may be said so. From here on it may not. */
  function begin(call) {
    if (!address || !key) throw dispatchNotSentError('unconfigured', `the provider has no ${address ? 'key' : 'address'}`)
    call.sending()
  }

  const owned = ({ job, turn, session }) => ({ providerJobId: job, turnId: turn, sessionId: session })
  const pathOf = ({ providerJobId, turnId }) => `/jobs/${encodeURIComponent(providerJobId)}/turns/${encodeURIComponent(turnId)}`
  /**
   * What the provider says of a turn that began at `since`, as it is known here now: the time of an observation is this machine's,
   * and an end by the provider's clock is told only where it lies between the two. After an end nothing is asked for any more, so
   * that it is said with the last page of events and not before.
   */
  function observed({ state, endedAt, costUsd, events, next, more, ...turn }, since, { limits }) {
    const observedAt = Date.now()
    const said = events.map(({ number, type, at: timestamp, data }) => (
      { eventId: `${turn.turn}/${number}`, sequence: number, type, timestamp, data }
    ))
    const page = paged(said, { next, more }, limits)
    const isEarly = page.more && ENDS.has(state)
    const isEnded = ENDS.has(state) && !isEarly && endedAt >= since && endedAt <= observedAt
    return {
      ...owned(turn),
      state: isEarly ? 'running' : (STATES.get(state) ?? 'status-unknown'),
      observedAt,
      completedAt: isEnded ? endedAt : null,
      costUsd,
      events: page.events,
      cursor: page.cursor,
    }
  }

  return {
    async submit({ prompt, model, inputHead, idempotencyKey }, call) {
      begin(call)
      const body = { prompt, model, work: place === null ? undefined : { ...place, inputHead } }
      return owned(await ask('POST', '/jobs', call, { idempotencyKey, body }))
    },

    async continue({ prompt, sessionId, previous, idempotencyKey }, call) {
      begin(call)
      const path = `/jobs/${encodeURIComponent(previous.providerJobId)}/turns`
      return owned(await ask('POST', path, call, { idempotencyKey, body: { prompt, session: sessionId } }))
    },

    async inspect(input, call) {
      return observed(await ask('GET', `${pathOf(input)}?after=${input.cursor ?? 0}`, call), input.startedAt, call)
    },

    async collect(input, call) {
      const result = await ask('GET', `${pathOf(input)}/result`, call, { mayBeMissing: true })
      if (result === null) return null
      const { output, ok, costUsd, work, files, pr } = result
      // As it came: the boundary judges whose it is, and a publication every path and hash of it.
      const { repo, branch, inputHead = input.inputHead } = work ?? {}
      const made = { repo, branch, inputHead, files, pr, text: output }
      return { ...owned(result), ...made, outcome: { finished: true, ok, exit: ok ? 0 : 1, cost: costUsd, denials: [] } }
    },

    async cancel(input, call) {
      const { state } = await ask('POST', `${pathOf(input)}/cancel`, call, { idempotencyKey: input.idempotencyKey, body: {} })
      return { confirmed: state === 'cancelled' }
    },

    /** By the key alone: a job that only looks like it is another one. */
    async lookup({ idempotencyKey, intentAt }, call) {
      const found = await ask('GET', `/keys/${encodeURIComponent(idempotencyKey)}`, call, { mayBeMissing: true })
      return found === null ? null : observed(found, intentAt, call)
    },
  }
}
