/**
 * A transport to a provider of hosted agents over its REST interface: what an adapter of your own may look like. The provider
 * here is the small one of `tests/hosted-agents/server.mjs`.
 *
 * The boundary asks for each method once. Nothing here repeats a request, keeps a connection or runs by itself.
 */

// In a program of your own: from 'gallivant/execution'
import { TransportError, dispatchNotSentError } from '../../bindings-node/lib/execution.js'

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

/** The text of an answer, as far as anybody takes it. */
async function textOf(response, most) {
  const chunks = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength
    if (length > most) throw new TransportError('protocol', "the provider's answer is longer than any that is taken")
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/**
 * A transport to the provider at `address`, with its key. `place` is where a task's work belongs, `{repo, branch}`, which the
 * provider is told of with the revision to begin from, and names in its result; null for a task that leaves nothing behind.
 */
export function hostedAgents({ address, key, place = null }) {
  /** One request. Null stands for a 404 where the caller says that it may be. */
  async function ask(method, path, call, { body, idempotencyKey, mayBeMissing = false } = {}) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' }
    if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey
    const response = await fetch(new URL(path, address), {
      method, headers, signal: call.signal, redirect: 'error', body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await textOf(response, call.limits.resultBytes + BEYOND)
    if (response.status === 404 && mayBeMissing) return null
    if (response.status === 401 || response.status === 403) throw new TransportError('auth', 'the provider does not accept the key')
    if (response.status === 429 || response.status === 503) {
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
      throw new TransportError('rate', `the provider asks for patience, status ${response.status}`, { retryAfterMs: seconds * 1000 })
    }
    if (!response.ok) throw new TransportError('io', `the provider answers with status ${response.status}`)
    try {
      return JSON.parse(text)
    } catch (cause) {
      throw new TransportError('protocol', 'the provider answers with no JSON', { cause })
    }
  }

  /** Nothing was sent before this, so that it may be said so. From here on it may not. */
  function begin(call) {
    if (!address || !key) throw dispatchNotSentError('unconfigured', 'the provider has no address or no key')
    call.sending()
  }

  const owned = ({ job, turn, session }) => ({ providerJobId: job, turnId: turn, sessionId: session })
  const pathOf = ({ providerJobId, turnId }) => `/jobs/${encodeURIComponent(providerJobId)}/turns/${encodeURIComponent(turnId)}`
  /** After an end nothing is asked for any more, so that it is said with the last page of events and not before. */
  const observed = ({ state, at, endedAt, costUsd, events, next, more, ...turn }) => ({
    ...owned(turn),
    state: more && ENDS.has(state) ? 'running' : (STATES.get(state) ?? 'status-unknown'),
    observedAt: at,
    completedAt: more && ENDS.has(state) ? null : endedAt,
    costUsd,
    events: events.map(({ number, type, at: timestamp, data }) => ({ eventId: `${turn.turn}/${number}`, sequence: number, type, timestamp, data })),
    cursor: next,
  })

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

    async inspect(input, call) { return observed(await ask('GET', `${pathOf(input)}?after=${input.cursor ?? 0}`, call)) },

    async collect(input, call) {
      const result = await ask('GET', `${pathOf(input)}/result`, call, { mayBeMissing: true })
      if (result === null) return null
      const { output, ok, costUsd, work, files, pr } = result
      // As it came: the boundary judges whose it is, and a publication every path and hash of it.
      const { repo, branch, inputHead } = work ?? {}
      const made = { repo, branch, inputHead, files, pr }
      return { ...owned(result), ...made, output, outcome: { finished: true, ok, exit: ok ? 0 : 1, cost: costUsd, denials: [] } }
    },

    async cancel(input, call) {
      const { state } = await ask('POST', `${pathOf(input)}/cancel`, call, { idempotencyKey: input.idempotencyKey, body: {} })
      return { confirmed: state === 'cancelled' }
    },

    /** By the key alone: a job that only looks like it is another one. */
    async lookup({ idempotencyKey }, call) {
      const found = await ask('GET', `/keys/${encodeURIComponent(idempotencyKey)}`, call, { mayBeMissing: true })
      return found === null ? null : observed(found)
    },
  }
}
