/**
 * A coordinator's face: the page, what it shows, and the creates that come with an `Idempotency-Key`.
 *
 * | request | does |
 * | --- | --- |
 * | `GET /` | the page |
 * | `GET /state` | the tasks and the agents, as JSON, and the repository that is worked on |
 * | `POST /tasks` with `Idempotency-Key`: `{prompt, model?, budgetUsd, publish?}` | one task for a key, however often it comes; `publish: true` has it end in a pull request |
 * | `GET /tasks/ID` | how a task stands, with its result |
 * | `GET /tasks/ID/events` | its output, as server-sent events |
 * | `GET /output?task=ID&task=ID&from=ROW,ROW` | the output of several tasks on one connection, each from just after its row on |
 * | `POST /tasks/ID/stop`: `{reason}` | asks for its end |
 * | `POST /tasks/ID/resume` | tries a dispatch or a publication again that was refused |
 * | `POST /tasks/ID/absent`: `{evidence}` | an operator has seen that the provider made no job |
 *
 * It listens to this machine alone and asks nobody who he is: put it behind whatever does. A page of another site cannot make it
 * act: what changes something has to be JSON, which a browser sends to strangers only after asking, and the name that it was
 * asked by has to be this machine's.
 */

import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

// In a program of your own: from 'gallivant/http' and 'gallivant/journal'
import { idempotent } from '../../bindings-node/lib/http.js'
import { pipeReplay } from '../../bindings-node/lib/journal.js'
import { pipeOutputs, positionsOf } from './streams.mjs'

const PAGE = fileURLToPath(new URL('page.html', import.meta.url))
const HOSTS = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/
const BODY_BYTES = 262_144
/** What is refused as things stand. No stop is accepted while a push is written: it is asked for again (EX-CAN-50). */
const CONFLICTS = new Set(['EXECUTION_INPUT', 'EXECUTION_UNKNOWN_RUN', 'EXECUTION_BUSY', 'EXECUTION_PUBLICATION_BUSY'])

/** A refusal, as it is answered. */
class Refusal extends Error {
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

/**
 * What answers requests. `repo` is the repository that is worked on, or null; `agents` gives the agents' states, `wake` is called
 * when there is something to do.
 */
export function webOver({ tasks, store, repo, agents, wake, ending, report }) {
  const create = idempotent({
    store, operation: 'tasks.create', scope: () => ['local'], required: true, bodyLimit: BODY_BYTES,
    onError: (error) => report(`${error.code ?? error.name}: ${error.message}`),
  })

  /** The task's id is made of the key, so that a create which died half way is gone on with, and never made twice. */
  async function created(request, response) {
    const { prompt, model = null, budgetUsd, publish = false } = await jsonOf(request)
    if (typeof prompt !== 'string' || prompt === '') throw new Refusal(400, 'prompt has to be a text')
    if (model !== null && typeof model !== 'string') throw new Refusal(400, 'model has to be a text')
    if (!Number.isFinite(budgetUsd) || budgetUsd <= 0) throw new Refusal(400, 'budgetUsd has to be an amount')
    if (typeof publish !== 'boolean') throw new Refusal(400, 'publish has to be true or false')
    if (publish && repo === null) throw new Refusal(400, 'there is no repository to publish to')
    const id = `t-${createHash('sha256').update(request.headers['idempotency-key']).digest('hex').slice(0, 24)}`
    const task = await tasks.create(id, { prompt, model, budgetUsd, isPublished: publish })
    wake()
    response.setHeader('location', `/tasks/${task.id}`)
    answer(response, 201, { id: task.id })
  }

  /** Streams a run until the browser goes away. One that reconnects says what it has, and goes on there. */
  async function events(task, response) {
    if (task.directory === null) return response.writeHead(404).end()
    // Once it has ended, its connection must not keep a server that goes down.
    response.setHeader('connection', 'close')
    try {
      const { how, error } = await pipeReplay(task.directory, response, { signal: ending })
      if (how === 'failed') report(`${task.id}: ${error.message}`)
    } catch (error) {
      // At any answer but 200 a browser gives up, and the page tries again later. A connection that breaks it makes again.
      if (error.code === 'EXECUTION_UNKNOWN_RUN') return response.writeHead(404).end()
      if (error !== ending.reason) report(`${task.id}: ${error.message}`)
      response.destroy()
    }
  }

  /** What a browser that reconnects says goes before what the page has asked for. */
  async function outputs(request, query, response) {
    const found = query.getAll('task').map((id) => tasks.get(id))
    if (found.includes(undefined)) throw new Refusal(404, 'no such task')
    const from = request.headers['last-event-id'] || query.get('from') || ''
    await pipeOutputs(found, positionsOf(from, found.length), response, { signal: ending, report })
  }

  async function shown(task) {
    return { ...summaryOf(task), runId: task.runId, result: task.isKnown ? await task.execution.resultView(task.runId) : null }
  }

  const acts = {
    async stop(task, { reason }) {
      if (typeof reason !== 'string' || reason === '') throw new Refusal(400, 'reason has to be a text')
      await tasks.stop(task, reason)
    },
    resume: (task) => tasks.resume(task),
    absent: (task, { evidence }) => tasks.settleAbsent(task, evidence),
  }

  async function route(request, response) {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost')
    if (!HOSTS.test(request.headers.host ?? '')) throw new Refusal(421, 'this is not the server of that name')
    const isRead = request.method === 'GET'
    if (!isRead && request.method !== 'POST') throw new Refusal(405, 'only GET and POST')
    if (!isRead && !/^application\/json\b/.test(request.headers['content-type'] ?? '')) throw new Refusal(415, 'only JSON')
    if (isRead && pathname === '/') {
      response.setHeader('content-security-policy', "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'")
      return response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(await readFile(PAGE))
    }
    if (isRead && pathname === '/state') return answer(response, 200, { tasks: tasks.list().map(summaryOf), agents: agents(), repo })
    if (isRead && pathname === '/output') return outputs(request, searchParams, response)
    if (!isRead && pathname === '/tasks') {
      return create(request, response, (error) => {
        if (error) return refused(response, error)
        return created(request, response).catch((failure) => refused(response, failure))
      })
    }
    const [, id, act] = /^\/tasks\/([^/]+)(?:\/([a-z]+))?$/.exec(pathname) ?? []
    const task = tasks.get(id)
    if (task === undefined) throw new Refusal(404, 'no such task')
    if (isRead && act === undefined) return answer(response, 200, await shown(task))
    if (isRead && act === 'events') return events(task, response)
    if (isRead || !Object.hasOwn(acts, act)) throw new Refusal(404, 'no such thing')
    await acts[act](task, await jsonOf(request))
    wake()
    return answer(response, 202, summaryOf(task))
  }

  function refused(response, error) {
    const status = error.status ?? (CONFLICTS.has(error.code) ? 409 : 500)
    if (status === 500) report(error.message)
    if (response.headersSent) return response.destroy()
    return answer(response, status, { error: status === 500 ? (error.code ?? 'failed') : error.message })
  }

  return (request, response) => { route(request, response).catch((error) => refused(response, error)) }
}

/** What the page shows of a task. */
function summaryOf({ id, wanted, phase, projection, outcome, error, nextAttemptAt, isStopping, isUnresolved, directory, publication }) {
  return {
    id, phase, prompt: wanted.prompt, budgetUsd: wanted.budgetUsd, isStopping,
    isUnresolved,
    state: outcome?.absent ? 'absent' : (projection?.state ?? null),
    job: projection?.providerJobId ?? null,
    costUsd: projection?.costUsd ?? null,
    ok: outcome?.ok ?? null,
    error, nextAttemptAt,
    hasOutput: directory !== null,
    branch: wanted.publish?.branch ?? null,
    publication: publication && publicationOf(publication),
  }
}

function publicationOf({ status, reason = null, detail = null, appliedHead = null, pr = null }) {
  return { status, reason, detail, appliedHead, pr }
}

function answer(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
  response.end(JSON.stringify(body, (_, value) => (typeof value === 'bigint' ? String(value) : value)))
}

async function jsonOf(request) {
  const chunks = []
  let length = 0
  for await (const chunk of request) {
    length += chunk.length
    if (length > BODY_BYTES) throw new Refusal(413, 'that is too long')
    chunks.push(chunk)
  }
  try {
    const value = JSON.parse(Buffer.concat(chunks).toString('utf8') || '{}')
    if (typeof value === 'object' && value !== null) return value
  } catch { /* What is said of it is said below. */ }
  throw new Refusal(400, 'the body has to be a JSON object')
}
