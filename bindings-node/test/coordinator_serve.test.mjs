/** The example's coordinator of paid work: killed at the worst moments, asked twice, stopped, and spoken to by strangers. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { unresolvedBelow } from '../../examples/node-coordinator/tasks.mjs'
import { Session } from '../lib/index.js'
import { coordinatorFor } from '../test-support/coordinator.mjs'
import { providerFor } from '../test-support/provider.mjs'
import { directoryFor, runNode } from '../test-support/seat.mjs'

const AGENTS = { lines: 4, everyMs: 50, costUsd: 0.25, page: 100 }

/** A provider whose agents work by themselves, and a coordinator over it. */
async function both(t, agents = AGENTS) {
  const directory = mkdtempSync(join(tmpdir(), 'gallivant-'))
  const provider = await providerFor(t, join(directory, 'provider.json'))
  await provider.control('/agents', agents)
  const root = join(directory, 'root')
  const coordinator = await coordinatorFor(t, root, provider)
  // After both of them have ended, who write there.
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return { root, provider, coordinator }
}

const isOver = ({ phase }) => phase === 'ended'

test('c_037_killed_in_a_submit_it_goes_on_with_the_one_job_that_was_made', { timeout: 180_000 }, async (t) => {
  const { root, provider, coordinator } = await both(t)
  // The provider makes the job and keeps the reply to itself.
  await provider.control('/fail', { route: 'create', how: 'hang' })
  const { status, body: { id } } = await coordinator.create('wish-1')
  assert.equal(status, 201)
  while ((await provider.control('')).jobs === 0) await pause(5)
  await coordinator.end('SIGKILL')
  assert.equal((await unresolvedBelow(root)).length, 1)
  await coordinator.start()
  const task = await coordinator.until(id, isOver)
  assert.deepEqual([task.state, task.ok, task.costUsd, task.job], ['succeeded', true, 0.25, 'job-1'])
  // The client that heard nothing asks again, and gets its task.
  assert.equal((await coordinator.create('wish-1')).body.id, id)
  assert.deepEqual((await provider.control('/books')).turns.map(({ prompt, came }) => [prompt, came]), [['do it', 1]])
  assert.deepEqual(await unresolvedBelow(root), [])
})

test('killed_in_a_collect_it_collects_once_more_and_loses_nothing', { timeout: 180_000 }, async (t) => {
  const { provider, coordinator } = await both(t)
  await provider.control('/fail', { route: 'result', how: 'hang' })
  const { body: { id } } = await coordinator.create('wish-1')
  while ((await provider.control('')).requests.result === undefined) await pause(5)
  await coordinator.end('SIGKILL')
  await coordinator.start()
  const task = await coordinator.until(id, isOver)
  assert.deepEqual([task.ok, task.result.cost], [true, 0.25])
  assert.equal((await provider.control('')).jobs, 1)
})

test('ik_06_a_create_is_one_task_for_a_key_also_after_a_kill', { timeout: 180_000 }, async (t) => {
  const { root, coordinator } = await both(t)
  const answers = await Promise.all(Array.from({ length: 8 }, () => coordinator.create('wish-1')))
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1)
  const other = await coordinator.create('wish-1', 'something else')
  assert.deepEqual([other.status, other.body.code], [409, 'idempotency_key_reused'])
  assert.equal((await coordinator.ask('/tasks', { prompt: 'x', budgetUsd: 1 })).status, 400)
  await coordinator.end('SIGKILL')
  await coordinator.start()
  assert.equal((await coordinator.create('wish-1')).body.id, answers[0].body.id)
  const task = { prompt: 'x', budgetUsd: 1 }
  for (const body of [{ ...task, prompt: '' }, { ...task, budgetUsd: 0 }, { prompt: 'x' }, { ...task, model: 7 }, { ...task, publish: 1 }, { ...task, publish: true }]) {
    assert.equal((await coordinator.ask('/tasks', body, { 'idempotency-key': JSON.stringify(body) })).status, 400)
  }
  assert.equal(readdirSync(join(root, 'tasks')).length, 1)
})

test('a_stop_ends_a_run_and_a_task_that_was_never_sent', { timeout: 180_000 }, async (t) => {
  const { root, provider, coordinator } = await both(t, { ...AGENTS, everyMs: 60_000 })
  const { body: { id } } = await coordinator.create('runs')
  await coordinator.until(id, ({ job }) => job !== null)
  assert.equal((await coordinator.ask(`/tasks/${id}/stop`, { reason: 'enough' })).status, 202)
  assert.equal((await coordinator.until(id, isOver)).state, 'cancelled')
  assert.equal((await provider.control('')).cancellations, 1)
  // One that the provider does not take, so that it can be stopped before it was sent.
  await coordinator.end('SIGKILL')
  const address = provider.address
  provider.address = ''
  await coordinator.start()
  const { body: { id: refused } } = await coordinator.create('refused')
  const waits = await coordinator.until(refused, ({ phase }) => phase === 'refused')
  assert.equal(waits.error.code, 'EXECUTION_DISPATCH_REFUSED')
  await coordinator.ask(`/tasks/${refused}/stop`, { reason: 'not any more' })
  await coordinator.ask(`/tasks/${refused}/resume`, {})
  await coordinator.end('SIGKILL')
  provider.address = address
  await coordinator.start()
  assert.equal((await coordinator.until(refused, isOver)).job, null)
  assert.equal((await provider.control('')).jobs, 1)
  assert.deepEqual(await unresolvedBelow(root), [])
})

test('a_dispatch_that_was_refused_waits_for_a_person', { timeout: 180_000 }, async (t) => {
  const { provider, coordinator } = await both(t)
  await coordinator.end('SIGKILL')
  const address = provider.address
  provider.address = ''
  await coordinator.start()
  const { body: { id } } = await coordinator.create('wish-1')
  await coordinator.until(id, ({ phase }) => phase === 'refused')
  await pause(1500)
  assert.equal(coordinator.said.split(`coordinator: ${id}: `).length, 2, 'it was tried once')
  assert.equal((await coordinator.ask(`/tasks/${id}/resume`, {})).status, 202)
  await coordinator.until(id, ({ phase }) => phase === 'refused')
  await coordinator.end('SIGTERM')
  provider.address = address
  await coordinator.start()
  assert.equal((await coordinator.until(id, isOver)).ok, true)
})

test('what_the_provider_never_got_is_named_and_never_sent_again_until_a_person_has_settled_it', { timeout: 180_000 }, async (t) => {
  const { root, provider, coordinator } = await both(t)
  await provider.control('/fail', { route: 'create', how: 500 })
  const { body: { id } } = await coordinator.create('wish-1')
  await coordinator.until(id, ({ isUnresolved }) => isUnresolved)
  await pause(1500)
  const { jobs, requests } = await provider.control('')
  assert.deepEqual([jobs, requests.create, requests.find >= 1], [0, 1, true])
  assert.equal((await unresolvedBelow(root)).length, 1)
  assert.equal((await coordinator.ask(`/tasks/${id}/absent`, {})).status, 409, 'without evidence')
  assert.equal((await coordinator.ask(`/tasks/${id}/absent`, { evidence: 'the list of jobs is empty' })).status, 202)
  const task = await coordinator.until(id, isOver)
  assert.deepEqual([task.state, task.ok], ['absent', false])
  await coordinator.end('SIGKILL')
  await coordinator.start()
  assert.equal((await coordinator.until(id, isOver)).state, 'absent')
  assert.equal((await provider.control('')).requests.create, 1)
  assert.deepEqual(await unresolvedBelow(root), [])
})

test('ex_sch_27_a_submit_that_hangs_keeps_nobody_s_pass', { timeout: 180_000 }, async (t) => {
  const { provider, coordinator } = await both(t, { ...AGENTS, everyMs: 500 })
  const { body: { id } } = await coordinator.create('first')
  await coordinator.until(id, ({ job }) => job !== null)
  await provider.control('/fail', { route: 'create', how: 'hang' })
  const { body: { id: hangs } } = await coordinator.create('hangs')
  while ((await provider.control('')).jobs < 2) await pause(5)
  assert.equal((await coordinator.until(id, isOver)).ok, true)
  assert.equal((await coordinator.task(hangs)).job, null)
})

test('the_output_of_all_runs_comes_on_one_connection_and_goes_on_where_each_stood', { timeout: 180_000 }, async (t) => {
  const { coordinator } = await both(t)
  const made = await Promise.all(['a', 'b', 'c'].map((key) => coordinator.create(key)))
  const names = made.map(({ body }) => body.id)
  await Promise.all(names.map((id) => coordinator.until(id, isOver)))
  const rows = async (path, headers, count) => {
    const [response] = await once(request(new URL(path, coordinator.url), { agent: false, headers }).end(), 'response')
    assert.equal(response.headers['content-type'], 'text/event-stream')
    let text = ''
    for await (const part of response.setEncoding('utf8')) {
      text += part
      if (text.split('\n\n').length > count) break
    }
    return text.trimEnd().split('\n\n').map((event) => Object.fromEntries(event.split('\n').map((line) => line.split(/: (.*)/))))
  }
  const all = await rows(`/output?${names.map((id) => `task=${id}`).join('&')}`, {}, 12)
  for (const id of names) {
    const own = all.map(({ data }) => JSON.parse(data)).filter(({ task }) => task === id).map(({ row }) => row.id)
    assert.deepEqual(own, ['1', '2', '3', '4'])
  }
  // The last event's id says where every run stands.
  const after = await rows(`/output?${names.map((id) => `task=${id}`).join('&')}`, { 'last-event-id': all[7].id }, 4)
  const ids = (events) => events.map(({ data }) => JSON.parse(data)).map(({ task, row }) => `${task} ${row.id}`)
  assert.deepEqual(ids(after).sort(), ids(all.slice(8)).sort())
  const from = await rows(`/output?${names.map((id) => `task=${id}`).join('&')}&from=4,,3`, {}, 5)
  assert.deepEqual(ids(from).sort(), [...['1', '2', '3', '4'].map((row) => `${names[1]} ${row}`), `${names[2]} 4`].sort())
  const single = await rows(`/tasks/${names[0]}/events`, { 'last-event-id': '3' }, 1)
  assert.deepEqual(single.map(({ id, event }) => [id, event]), [['4', 'line']])
})

test('it_shows_its_agents_and_speaks_to_no_stranger', { timeout: 180_000 }, async (t) => {
  const { root, coordinator } = await both(t)
  const session = Session.startSync(join(root, 'agents', 'worker'), { agent: 'worker', harness: 'claude', ptySession: 'w' })
  session.writer.observeSync({ state: 'active', blockedOn: 'human', ask: 'permission', reason: 'Bash' })
  let agents = []
  while (agents[0]?.ask !== 'permission') ({ agents } = (await coordinator.ask('/state')).body)
  assert.deepEqual(agents, [{ agent: 'worker', state: 'active', blockedOn: 'human', ask: 'permission', reason: 'Bash' }])
  session.close()
  while (agents[0]?.state !== 'unknown') ({ agents } = (await coordinator.ask('/state')).body)
  const asked = async (method, path, headers) => {
    const [response] = await once(request(new URL(path, coordinator.url), { method, agent: false, headers }).end(), 'response')
    response.resume()
    return response.statusCode
  }
  assert.equal(await asked('GET', '/state', { host: 'evil.example' }), 421)
  assert.equal(await asked('POST', '/tasks', { 'content-type': 'text/plain', 'idempotency-key': 'k' }), 415)
  assert.equal(await asked('DELETE', '/tasks', {}), 405)
  for (const path of ['/tasks/nobody', '/tasks/../agents', '/page.html']) assert.equal(await asked('GET', path, {}), 404, path)
  const page = await (await fetch(coordinator.url)).text()
  assert.equal(page, readFileSync(new URL('../../examples/node-coordinator/page.html', import.meta.url), 'utf8'))
  assert.doesNotMatch(page, /innerHTML|insertAdjacentHTML|document\.write/)
  assert.deepEqual(await coordinator.end('SIGTERM'), [0, null])
})

test('a_wrong_call_is_told_in_one_line', { timeout: 180_000 }, async (t) => {
  const program = new URL('../../examples/node-coordinator/serve.mjs', import.meta.url).pathname
  const usage = 'usage: serve.mjs ROOT PROVIDER [--port PORT] [--agents DIRECTORY] [--progress-ms MS] [--repository FILE]\n'
  assert.deepEqual(await runNode([program, 'only-one']), { code: 2, signal: null, stdout: '', stderr: usage })
  const env = { ...process.env }
  delete env.HOSTED_AGENTS_KEY
  const directory = directoryFor(t)
  const { code, stderr } = await runNode([program, directory, 'http://127.0.0.1:1'], { env })
  assert.deepEqual([code, stderr], [1, 'coordinator: the provider needs a key, variable=`HOSTED_AGENTS_KEY`\n'])
  env.HOSTED_AGENTS_KEY = 'a-key'
  const file = join(directory, 'repository.json')
  for (const [text, what] of [[null, 'no object'], ['{', 'no JSON'], ['[]', 'member=`repo`'], [JSON.stringify({ repo: 'a', origin: 'b', base: 'c', checks: 'd', approvedHash: 'e' }), 'member=`author`']]) {
    if (text !== null) writeFileSync(file, text)
    const said = await runNode([program, directory, 'http://127.0.0.1:1', '--repository', file], { env })
    assert.deepEqual([said.code, said.stderr], [1, `coordinator: the repository is not described, ${what}, file=\`${file}\`\n`])
  }
})
