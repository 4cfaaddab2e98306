/** The guide to runs in a browser, and its example: what they say is run, all but the browser itself. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { clientFor } from '../test-support/events.mjs'
import { ids, runFor, until } from '../test-support/journal.mjs'
import { serverOver } from '../test-support/replay_server.mjs'
import { PACKAGE, PROJECT, directoryFor, runNode } from '../test-support/seat.mjs'

const GUIDE = readFileSync(join(PROJECT, 'docs', 'guides', 'browser.md'), 'utf8')
const PARTS = [...GUIDE.matchAll(/^<!-- (\S+) -->\n```\w+\n([^]*?)^```$/gm)].map(([, file, text]) => ({ file, text }))
const PROGRAMS = [...GUIDE.matchAll(/\n\n```js\n([^]*?)^```$/gm)].map(([, text]) => text)

async function fetched(port, path, method = 'GET') {
  const [res] = await once(request({ port, host: '127.0.0.1', path, method, agent: false }).end(), 'response')
  let text = ''
  for await (const part of res.setEncoding('utf8')) text += part
  return { status: res.statusCode, type: res.headers['content-type'], text }
}

test('the_guide_s_parts_are_the_example_s', () => {
  assert.deepEqual(PARTS.map(({ file }) => file), ['examples/node-replay/server.mjs', 'examples/node-replay/page.html'])
  for (const { file, text } of PARTS) assert.ok(readFileSync(join(PROJECT, file), 'utf8').includes(text), file)
})

test('the_guide_s_programs_write_and_read_a_run_as_they_stand', async (t) => {
  const root = directoryFor(t)
  const said = []
  for (const block of PROGRAMS) {
    const program = block.replaceAll("'/srv/", `'${root}/`)
    const { code, stdout, stderr } = await runNode(['--input-type=module', '-e', program], { cwd: PACKAGE })
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, block)
    said.push(stdout)
  }
  assert.deepEqual(said, [
    '1 recorded, 2 recorded, 3 recorded, 4 recorded\n',
    'the password is [redacted]\n{"name":"Bash","tokens":12345678901234567890}\nsomething is missing\n<b>done</b>\n',
    '3 gap {"id":"3","kind":"gap"}\n4 line {"id":"4","kind":"line","text":"<b>done</b>"}\n',
  ])
})

test('ex_jrn_67_the_example_s_server_streams_restarts_and_goes_on', { timeout: 180_000 }, async (t) => {
  const runs = directoryFor(t)
  mkdirSync(join(runs, 'run-1'))
  const run = runFor(t, join(runs, 'run-1'))
  run.say(5)
  const first = await serverOver(t, runs)
  const client = await clientFor(first.port, {}, undefined, '/runs/run-1/events')
  await until(() => client.events.lastId === '5')
  const started = performance.now()
  first.child.kill()
  assert.deepEqual(await first.over, [0, null])
  assert.ok(performance.now() - started < 4000, 'no open stream keeps it')
  assert.equal(first.said(), '')
  run.say(5)
  const second = await serverOver(t, runs, String(first.port))
  const again = await clientFor(second.port, { 'last-event-id': client.events.lastId }, undefined, '/runs/run-1/events')
  await until(() => again.events.lastId === '10')
  assert.deepEqual([...client.ids(), ...again.ids()], ids(1, 10))
  second.child.kill('SIGKILL')
})

test('the_example_s_server_shows_its_page_and_no_other_file', async (t) => {
  const root = directoryFor(t)
  mkdirSync(join(root, 'runs'))
  runFor(t, root).say(1)
  const { port, child, said } = await serverOver(t, join(root, 'runs'))
  const page = await fetched(port, '/?run=run-1')
  assert.deepEqual([page.status, page.type], [200, 'text/html; charset=utf-8'])
  assert.equal(page.text, readFileSync(join(PROJECT, 'examples', 'node-replay', 'page.html'), 'utf8'))
  assert.doesNotMatch(page.text, /innerHTML|insertAdjacentHTML|document\.write/)
  for (const path of ['/runs/nowhere/events', '/runs/../events', '/runs/%2e%2e/events', '/runs/./events', '/runs/..%2f/events', '/page.html', '/runs//events']) {
    assert.equal((await fetched(port, path)).status, 404, path)
  }
  assert.equal((await fetched(port, '/runs/run-1/events', 'POST')).status, 405)
  child.kill()
  await once(child, 'exit')
  assert.equal(said(), '')
})
