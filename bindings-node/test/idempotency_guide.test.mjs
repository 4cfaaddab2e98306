/** The Node part of the guide to idempotent creates: what it says is run, each block in a process of its own. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { send, until } from '../test-support/creates.mjs'
import { PACKAGE, PROJECT, directoryFor, runNode } from '../test-support/seat.mjs'

/** The section of the guide that is about Node. */
function section() {
  const guide = readFileSync(join(PROJECT, 'docs', 'guides', 'idempotency.md'), 'utf8')
  return guide.slice(guide.indexOf('\n## In Node\n') + 1).replace(/(?<=.)\n## [^]*$/, '\n')
}

const blocks = [...section().matchAll(/^```js\n([^]*?)^```$/gm)].map(([, block]) => block)

/** A block as it runs here: in a folder of its own, and without syntax that this Node may not have. */
function runnable(t, block) {
  const root = directoryFor(t)
  writeFileSync(join(root, 'body'), 'a body')
  return block.replaceAll("'/srv/", `'${root}/`).replace(/^await using (store = )/m, 'const $1')
}

test('every_block_that_ends_runs_as_it_stands', async (t) => {
  const programs = blocks.filter((block) => !block.includes('process.env.PORT'))
  const said = []
  for (const block of programs) {
    const { code, stdout, stderr } = await runNode(['--input-type=module', '-e', runnable(t, block)], { cwd: PACKAGE })
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, block)
    said.push(stdout)
  }
  assert.deepEqual(said, ['true\n', 'true\nimport-1\n', 'unknown\ninvoice-7\n'])
})

test('the_server_of_the_guide_makes_one_thing_for_many_clients', { timeout: 180_000 }, async (t) => {
  const servers = blocks.filter((block) => block.includes('process.env.PORT'))
  assert.deepEqual(servers.map((block) => /from '(node:http|express|fastify)'/.exec(block)[1]), ['node:http', 'express', 'fastify'])
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const PORT = String(probe.address().port)
  probe.close()
  await once(probe, 'close')
  const env = { ...process.env, PORT }
  const child = spawn(process.execPath, ['--input-type=module', '-e', runnable(t, servers[0])], { cwd: PACKAGE, env, stdio: 'inherit' })
  t.after(() => child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${PORT}/org/things`
  const listens = () => new Promise((resolve) => {
    const socket = connect(Number(PORT), '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
  await until(listens, 'the server')
  const as = (user) => ({ headers: { 'x-user': user } })
  const answers = await Promise.all(Array.from({ length: 16 }, () => send(url, 'k', '{"name":"a"}', as('u-1'))))
  assert.deepEqual([...new Set(answers.map(({ text }) => text))], ['{"id":"thing-1","name":"a"}'])
  assert.equal((await send(url, 'k', '{"name":"a"}', as('u-2'))).json.id, 'thing-2', 'another user has other keys')
})
