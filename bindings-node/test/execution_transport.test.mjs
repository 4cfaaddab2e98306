/** What a transport says, and what becomes of it: its own words, its clock, pages that are too long, results, and what it leaves open. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import net from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { CAPABILITIES, hostedAgents } from '../../examples/node-coordinator/transport.mjs'
import { TransportError, checkTransport, dispatchNotSentError, fittingEvents, makeExecution } from '../lib/execution.js'
import { until } from '../test-support/creates.mjs'
import { providerFor } from '../test-support/provider.mjs'
import { directoryFor } from '../test-support/seat.mjs'

const KEY = 'the-key-of-a-test'
const WORK = { operationId: 'op-1', runId: 'run-1', prompt: 'mend the build', reservationUsd: 2 }
const caught = (promise) => promise.then(() => assert.fail('it has succeeded'), (error) => error)

function boundaryOf(t, transport, more = {}) {
  const execution = makeExecution({
    root: join(directoryFor(t), 'task'), taskId: 'task', provider: 'hosted-agents', account: 'me', budgetUsd: 20, health: 'external',
    capabilities: CAPABILITIES, transport, secrets: [KEY], ...more,
  })
  t.after(() => execution.close())
  return execution
}

/** A provider of one turn, whose answers a test gives by method and path. */
async function stubFor(t, answers) {
  const server = createServer(async (request, response) => {
    for await (const _ of request) { /* Read to its end. */ }
    const { pathname } = new URL(request.url, 'http://localhost')
    const answer = answers[`${request.method} ${pathname.split('/').at(-1)}`]
    if (answer === 'lose') return request.socket.destroy()
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(typeof answer === 'function' ? answer(new URL(request.url, 'http://localhost')) : answer ?? null))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => { server.closeAllConnections(); server.close() })
  return hostedAgents({ address: `http://127.0.0.1:${server.address().port}`, key: KEY })
}

const OWNED = { job: 'job-1', turn: 'turn-1', session: 'session-1' }
const seen = (more) => ({ ...OWNED, state: 'running', at: Date.now(), endedAt: null, costUsd: null, events: [], next: 0, more: false, ...more })

test('ex_tra_33_a_transports_own_words_reach_the_caller_redacted_and_no_file', async (t) => {
  const throws = (error) => ({ submit() { throw error }, inspect() { throw error }, collect: () => null, cancel() {}, continue() {} })
  const root = join(directoryFor(t), 'typo')
  const typo = boundaryOf(t, throws(new TypeError(`job.id is no function, ${KEY}`)), { root })
  const lost = await caught(typo.submit(WORK))
  assert.deepEqual([lost.code, lost.reason], ['EXECUTION_ACCEPTANCE_UNKNOWN', 'io'])
  assert.match(lost.message, /: the transport failed, said=`job\.id is no function, /)
  assert.ok(!lost.message.includes(KEY))
  assert.ok(!readFileSync(join(root, 'execution.json'), 'utf8').includes('no function'))

  const refused = await caught(boundaryOf(t, throws(dispatchNotSentError('unconfigured', 'ACME_KEY is not set'))).submit(WORK))
  assert.equal(refused.code, 'EXECUTION_DISPATCH_REFUSED')
  assert.match(refused.message, /code=`unconfigured` said=`ACME_KEY is not set`$/)

  const transport = { ...throws(new TransportError('auth', 'key 7 was revoked', { code: 'revoked' })), submit: () => ({ providerJobId: 'j', turnId: 't' }) }
  const execution = boundaryOf(t, transport)
  await execution.submit(WORK)
  const { error } = await execution.startup()
  assert.deepEqual([error.code, error.reason], ['EXECUTION_IO', 'auth'])
})

test('ex_obs_08_a_providers_clock_that_is_ahead_keeps_no_job_from_being_found_or_ended', async (t) => {
  for (const ahead of [500, 3_600_000, -3_600_000]) {
    const at = () => Date.now() + ahead
    const transport = await stubFor(t, {
      'POST jobs': 'lose',
      'GET turn-1': () => seen({ at: at(), state: 'succeeded', endedAt: at() }),
      'GET result': { ...OWNED, output: 'done', ok: true, costUsd: 0.5 },
    })
    const found = { ...transport, lookup: (input, call) => transport.inspect({ ...input, providerJobId: 'job-1', turnId: 'turn-1', startedAt: input.intentAt }, call) }
    const execution = boundaryOf(t, found)
    await caught(execution.submit(WORK))
    assert.equal((await execution.startup()).error, null, String(ahead))
    while (await execution.outcome('run-1') === null) assert.equal((await execution.startup()).error, null)
    const { ok, completionInferred } = await execution.outcome('run-1')
    assert.deepEqual([ok, completionInferred], [true, true], 'what is no time of this machine is not told as one')
  }
})

test('ex_obs_24_a_results_text_and_input_head_are_in_the_file_of_the_run', async (t) => {
  const transport = await stubFor(t, {
    'POST jobs': OWNED,
    'GET turn-1': () => seen({ state: 'succeeded', endedAt: Date.now() }),
    'GET result': { ...OWNED, output: 'it is mended', ok: true, costUsd: 0.5 },
  })
  const execution = boundaryOf(t, transport)
  const inputHead = '0123456789'.repeat(4)
  await execution.submit({ ...WORK, inputHead })
  while (await execution.outcome('run-1') === null) assert.equal((await execution.startup()).error, null)
  const result = JSON.parse(readFileSync(join(execution.dirOf('run-1'), 'result.json'), 'utf8'))
  assert.deepEqual([result.text, result.inputHead], ['it is mended', inputHead])

  // Of a result with another one the refusal names the member.
  const headless = boundaryOf(t, { ...transport, async collect(input, call) { return { ...await transport.collect(input, call), inputHead: null } } })
  await headless.submit({ ...WORK, inputHead })
  let error = null
  while (error === null) ({ error } = await headless.startup())
  assert.deepEqual([error.code, error.reason], ['EXECUTION_RESULT', 'foreign'])
  assert.match(error.remedy, /inputHead/)
})

test('ex_obs_17_a_page_that_is_too_long_is_cut_and_its_end_held_back', async (t) => {
  const sizes = [...Array(21).fill(9_000), 90_000, 10]
  const events = sizes.map((size, at) => ({ number: at + 1, type: 'message', at: Date.now(), data: 'x"'.repeat(size / 2) }))
  const transport = await stubFor(t, {
    'POST jobs': OWNED,
    'GET turn-1': ({ searchParams }) => (
      seen({ state: 'succeeded', endedAt: Date.now(), events: events.slice(Number(searchParams.get('after'))), next: events.length })
    ),
    'GET result': { ...OWNED, output: 'done', ok: true, costUsd: 0.5 },
  })
  const execution = boundaryOf(t, transport)
  await execution.submit(WORK)
  for (let pass = 0; await execution.outcome('run-1') === null; pass += 1) {
    assert.ok(pass < 20, 'it comes to its end')
    assert.equal((await execution.startup()).error, null)
  }
  assert.equal((await execution.check('run-1')).records, sizes.length)
  assert.deepEqual([fittingEvents([]), fittingEvents([{ eventId: 'e', type: 'x', data: 'x'.repeat(70_000) }])], [0, 0])
  assert.equal(fittingEvents(Array(9).fill({ eventId: 'e', type: 'x' }), { eventPageRecords: 4 }), 4)
})

test('ex_tra_07_a_call_that_was_given_up_leaves_no_connection_and_makes_no_other', async (t) => {
  // It answers nothing, or the head and then drips.
  for (const head of ['', 'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n ']) {
    const lines = { opened: 0, open: 0 }
    const server = net.createServer((line) => {
      lines.opened += 1
      lines.open += 1
      line.on('data', () => line.write(head)).on('error', () => {}).on('close', () => { lines.open -= 1 })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const transport = hostedAgents({ address: `http://127.0.0.1:${server.address().port}`, key: KEY })
    const execution = boundaryOf(t, transport, { limits: { deadlineMs: 1_000 } })
    assert.equal((await caught(execution.submit(WORK))).reason, 'deadline')
    await until(() => lines.open === 0, 'no connection is left')
    await pause(250)
    assert.deepEqual(lines, { opened: 1, open: 0 })
  }
})

test('ex_tra_18_the_check_follows_a_job_to_its_end_collects_it_and_goes_on', { timeout: 180_000 }, async (t) => {
  const provider = await providerFor(t, join(directoryFor(t), 'provider.json'))
  await provider.control('/agents', { lines: 8, everyMs: 500, costUsd: 0.25, page: 3 })
  const look = async () => {
    const { requests, jobs, cancellations, connections } = await provider.control('')
    return { requests: Object.values(requests).reduce((sum, count) => sum + count, 0), jobs, cancellations, openHandles: connections }
  }
  const good = hostedAgents({ address: provider.address, key: KEY })
  const options = { taskId: 'task', provider: 'hosted-agents', account: 'me', capabilities: CAPABILITIES, look, endingPrompt: 'end soon' }
  assert.deepEqual(await checkTransport(good, options), [])
  const states = (await provider.control('/books')).turns.map(({ state }) => state)
  assert.deepEqual(states, ['cancelled', 'succeeded', 'cancelled'])

  const losing = { ...good, async collect(input, call) { const { outcome, ...rest } = await good.collect(input, call) ?? {}; return rest } }
  const found = await checkTransport(losing, { ...options, secrets: [KEY] })
  assert.ok(found.some(({ clause, seen }) => clause === 'EX-TRA-18' && /reason=`(incomplete|foreign)`/.test(seen)), JSON.stringify(found))
})

test('the_check_refuses_counts_that_are_none', async (t) => {
  const stub = await stubFor(t, {})
  const options = { taskId: 'task', provider: 'hosted-agents', account: 'me', capabilities: CAPABILITIES }
  for (const counts of [{ requests: 0, jobs: 0, cancellations: 0 }, { requests: 0, jobs: 0, cancellations: 0, open_handles: 0 }]) {
    const error = await caught(checkTransport(stub, { ...options, look: () => counts }))
    assert.deepEqual([error.code, /counts\./.test(error.message)], ['GALLIVANT_INPUT', true])
  }
})
