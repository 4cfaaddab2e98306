/**
 * A small provider of hosted agents, for tests: jobs with turns, events by cursor, results, and creates and stops that are
 * idempotent by key. It runs in a process of its own on the loopback interface, and what it has answered is in its file first.
 *
 *     node tests/hosted-agents/server.mjs STATE_FILE [PORT]
 *
 * says `ready http://127.0.0.1:PORT` once it listens, and keeps jobs, turns and keys across restarts.
 *
 * | request | does |
 * | --- | --- |
 * | `POST /jobs` with `idempotency-key`: `{prompt, model?, work?}` | makes a job with its first turn, once for a key; 409 for another body. `work` is `{repo, branch, inputHead}` where a repository is worked on |
 * | `POST /jobs/:job/turns` with `idempotency-key`: `{prompt, session}` | makes another turn |
 * | `GET /keys/:key` | the turn that this key has made, or 404 |
 * | `GET /jobs/:job/turns/:turn?after=N` | its state, at most 2 events after the N-th, the number of the last one, and whether there are more |
 * | `GET /jobs/:job/turns/:turn/result` | its result, or 404; with the `work` that it was made for, and what came of it: `files` and `pr`, or null |
 * | `POST /jobs/:job/turns/:turn/cancel` with `idempotency-key` | cancels it, once for a key |
 * | `POST /control/turn`: `{job, turn, state?, costUsd?, event?, output?, files?, pr?}` | a test plays the agent |
 * | `POST /control/agents`: `{lines, everyMs, costUsd, page?, replyMs?, files?, pr?}` | every turn from now on is played by itself, by the clock; `files` is the manifest that each brings, `pr` the `{title, body}` |
 * | `POST /control/fail`: `{route, how, times?, retryAfter?}` | the next requests of this kind go wrong |
 * | `GET /control` | what has come so far: requests by route, jobs, turns, cancellations, open connections |
 * | `GET /control/books` | every turn, and how often a create or a stop came for each key; across restarts |
 *
 * `route` is `create`, `continue`, `find`, `look`, `result` or `cancel`. `how` is `lose-reply` (it is done, and the connection is
 * cut), `cut-body` (the connection is cut in the middle of the answer), `garbage` (the answer is no JSON), `hang` (it is done, and
 * never answered), or a status, with which nothing is done. `replyMs` is how long every request takes, half of it before it is
 * done.
 */

import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

const PAGE = 2
const ENDS = ['succeeded', 'failed', 'cancelled']

const [file, port = '0'] = process.argv.slice(2)
const state = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { turns: [], jobs: 0, cancellations: {}, agents: null, came: {} }
/** What goes wrong next. Not kept: a server that was started anew is well. */
const failures = []
const requests = {}

function save() {
  const staged = `${file}.new`
  const out = openSync(staged, 'w', 0o600)
  writeSync(out, JSON.stringify(state))
  fsyncSync(out)
  closeSync(out)
  renameSync(staged, file)
}

class Refusal extends Error {
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

function turnOf(job, turn) {
  const found = state.turns.find((one) => one.job === job && one.turn === turn)
  if (found === undefined) throw new Refusal(404, 'no such turn')
  return played(found)
}

/** A turn as it is now. One that plays by itself follows from when it was made, so that a restart changes nothing of it. */
function played(turn) {
  if (turn.agent === undefined || ENDS.includes(turn.state)) return turn
  const { lines, everyMs, costUsd, files, pr } = turn.agent
  const due = Math.min(lines, Math.floor((Date.now() - turn.madeAt) / everyMs))
  for (let number = turn.events.length + 1; number <= due; number += 1) {
    turn.events.push({ number, at: turn.madeAt + number * everyMs, type: 'message', data: `${turn.turn} line ${number}` })
  }
  if (due > 0) turn.state = 'running'
  if (due === lines) {
    Object.assign(turn, { state: 'succeeded', costUsd, endedAt: turn.madeAt + lines * everyMs, output: `${turn.body.prompt}: done`, files, pr })
  }
  return turn
}

/** Notes that a request with a key has come, whatever comes of it. */
function note(key) { state.came[key] = (state.came[key] ?? 0) + 1 }

const owned = ({ job, turn, session }) => ({ job, turn, session })

/** The turn of a key: the one that it has made, or a new one. */
function made(key, body, job) {
  if (!key) throw new Refusal(400, 'a create needs a key')
  note(key)
  const known = state.turns.find((one) => one.key === key)
  if (known !== undefined) {
    save()
    if (JSON.stringify(known.body) !== JSON.stringify(body)) throw new Refusal(409, 'the key was used for something else')
    return owned(known)
  }
  const session = job === undefined ? `session-${state.jobs + 1}` : body.session
  if (job !== undefined && !state.turns.some((one) => one.job === job && one.session === session)) throw new Refusal(404, 'no such session')
  if (job === undefined) state.jobs += 1
  const turn = {
    key, body, session, job: job ?? `job-${state.jobs}`, turn: `turn-${state.turns.length + 1}`, state: 'queued', events: [], costUsd: null,
    output: null, endedAt: null, madeAt: Date.now(), agent: state.agents ?? undefined,
  }
  state.turns.push(turn)
  save()
  return owned(turn)
}

function looked(turn, after) {
  const events = turn.events.slice(after, after + (state.agents?.page ?? PAGE))
  const { state: word, costUsd, endedAt } = turn
  const next = after + events.length
  return { ...owned(turn), state: word, costUsd, endedAt, at: Date.now(), events, next, more: next < turn.events.length }
}

function cancelled(turn, key) {
  if (!key) throw new Refusal(400, 'a stop needs a key')
  note(key)
  if (state.cancellations[key] === undefined) {
    if (!ENDS.includes(turn.state)) Object.assign(turn, { state: 'cancelled', endedAt: Date.now() })
    state.cancellations[key] = owned(turn)
  }
  save()
  return { state: turn.state }
}

function play({ job, turn: name, event, ...members }) {
  const turn = turnOf(job, name)
  Object.assign(turn, members)
  if (event !== undefined) turn.events.push({ number: turn.events.length + 1, at: Date.now(), ...event })
  if (ENDS.includes(turn.state)) turn.endedAt ??= Date.now()
  save()
  return {}
}

function seen() {
  const { turns, jobs, cancellations } = state
  return { requests, jobs, turns: turns.length, cancellations: Object.keys(cancellations).length }
}

function books() {
  const turns = state.turns.map((turn) => {
    const { key, job, turn: name, state: word, body, costUsd } = played(turn)
    return { key, job, turn: name, state: word, prompt: body.prompt, costUsd, came: state.came[key] }
  })
  return { turns, came: state.came }
}

/** By method and path: the route's name, and what it does. */
const ROUTES = [
  ['POST', /^\/jobs$/, 'create', (_, { key, body }) => made(key, body)],
  ['POST', /^\/jobs\/([^/]+)\/turns$/, 'continue', ([job], { key, body }) => made(key, body, job)],
  ['GET', /^\/keys\/([^/]+)$/, 'find', ([key]) => {
    const found = state.turns.find((one) => one.key === key)
    if (found === undefined) throw new Refusal(404, 'no such key')
    return looked(played(found), 0)
  }],
  ['GET', /^\/jobs\/([^/]+)\/turns\/([^/]+)$/, 'look', ([job, turn], { query }) => looked(turnOf(job, turn), Number(query.get('after') ?? 0))],
  ['GET', /^\/jobs\/([^/]+)\/turns\/([^/]+)\/result$/, 'result', ([job, name]) => {
    const turn = turnOf(job, name)
    if (turn.output === null) throw new Refusal(404, 'no result yet')
    const { output, costUsd, files = null, pr = null, body: { work = null } } = turn
    return { ...owned(turn), output, costUsd, ok: turn.state === 'succeeded', work, files, pr }
  }],
  ['POST', /^\/jobs\/([^/]+)\/turns\/([^/]+)\/cancel$/, 'cancel', ([job, turn], { key }) => cancelled(turnOf(job, turn), key)],
  ['POST', /^\/control\/turn$/, null, (_, { body }) => play(body)],
  ['POST', /^\/control\/agents$/, null, (_, { body }) => {
    state.agents = body
    save()
    return {}
  }],
  ['GET', /^\/control\/books$/, null, () => books()],
  ['POST', /^\/control\/fail$/, null, (_, { body }) => {
    failures.push({ times: 1, ...body })
    return {}
  }],
  ['GET', /^\/control$/, null, async (_, { connections }) => ({ ...seen(), connections: await connections() })],
]

function takeFailure(name) {
  const failure = failures.find(({ route, times }) => route === name && times > 0)
  if (failure !== undefined) failure.times -= 1
  return failure
}

async function answer(request, response) {
  const { pathname, searchParams: query } = new URL(request.url, 'http://localhost')
  const route = ROUTES.map(([method, path, name, action]) => ({ params: method === request.method && path.exec(pathname), name, action })).find(({ params }) => params)
  if (!route) throw new Refusal(404, 'no such route')
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString('utf8')
  if (route.name !== null) requests[route.name] = (requests[route.name] ?? 0) + 1
  const failure = takeFailure(route.name)
  if (typeof failure?.how === 'number') {
    if (failure.retryAfter !== undefined) response.setHeader('retry-after', failure.retryAfter)
    throw new Refusal(failure.how, 'a test says so')
  }
  const given = {
    query,
    key: request.headers['idempotency-key'],
    body: text === '' ? {} : JSON.parse(text),
    // The one that asks is not counted.
    connections: () => new Promise((resolve) => server.getConnections((_, count) => resolve(count - 1))),
  }
  const halfMs = route.name === null ? 0 : (state.agents?.replyMs ?? 0) / 2
  if (halfMs > 0) await pause(halfMs)
  const result = await route.action(route.params.slice(1).map(decodeURIComponent), given)
  if (halfMs > 0) await pause(halfMs)
  if (failure?.how === 'lose-reply') return request.socket.destroy()
  if (failure?.how === 'cut-body') return cut(request, response, JSON.stringify(result))
  if (failure?.how === 'garbage') return response.writeHead(200, { 'content-type': 'application/json' }).end('<html>busy</html>')
  if (failure?.how === 'hang') return undefined
  return say(response, 200, result)
}

/** Answers with the first half of a body whose length was said, and cuts the connection. */
function cut(request, response, text) {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.write(text.slice(0, text.length / 2), () => request.socket.resetAndDestroy())
}

function say(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => say(response, error.status ?? 500, { error: error.message }))
})
server.listen(Number(port), '127.0.0.1', () => console.log(`ready http://127.0.0.1:${server.address().port}`))
// Whoever has started it is gone when its standard input ends.
process.stdin.on('end', () => process.exit(0)).resume()
