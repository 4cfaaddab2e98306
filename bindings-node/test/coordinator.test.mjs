/** The example of the README: a coordinator that lists and follows a fleet. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { Session } from '../lib/index.js'
import { PROJECT, directoryFor, runNode } from '../test-support/seat.mjs'

const COORDINATOR = join(PROJECT, 'examples', 'node-coordinator', 'coordinator.mjs')

function sessionIn(root, name, options) {
  return Session.startSync(join(root, name), { agent: name, harness: 'claude', ptySession: name }, options)
}

/** A followed fleet: `next` resolves to the first line that `wanted` accepts, `stop` ends the program by a signal. */
function following(t, args) {
  const child = spawn(process.execPath, [COORDINATOR, '--follow', ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async next(wanted) {
      for (;;) {
        const { value, done } = await lines.next()
        if (done) throw new Error('the program has ended')
        if (wanted(value)) return value
      }
    },
    async stop(signal) {
      child.kill(signal)
      return once(child, 'exit')
    },
  }
}

test('it_lists_every_agent_with_state_ask_reason_and_age', async (t) => {
  const root = directoryFor(t)
  assert.equal((await runNode([COORDINATOR, root])).stdout, 'no agents\n')
  mkdirSync(join(root, 'empty'))
  const asking = sessionIn(root, 'team/asking')
  asking.writer.observeSync({ state: 'active', blockedOn: 'human', ask: 'permission', reason: 'Bash \x1b[31m' })
  const dead = sessionIn(root, 'dead')
  dead.writer.observeSync({ state: 'active' })
  dead.close()
  const done = sessionIn(root, 'done')
  done.endSync('exit 0')
  const { code, stdout, stderr } = await runNode([COORDINATOR, root])
  assert.deepEqual([code, stderr], [0, ''])
  const [head, ...rows] = stdout.trimEnd().split('\n').map((line) => line.split(/ {2,}/))
  assert.deepEqual(head, ['AGENT', 'STATE', 'BLOCKED ON', 'ASK', 'FOR', 'REASON'])
  assert.deepEqual(rows.map(([agent, state, blockedOn, ask, , reason]) => [agent, state, blockedOn, ask, reason]), [
    ['dead', 'unknown', 'unknown', 'unknown', 'session-dead'],
    ['done', 'ended', '-', '-', 'exit 0'],
    ['team/asking', 'active', 'human', 'permission', 'Bash ·[31m'],
  ])
  asking.close()
})

test('a_wrong_directory_is_told_in_one_line_with_what_to_do', async (t) => {
  const root = directoryFor(t)
  const missing = join(root, 'miss\x1b[31ming')
  writeFileSync(join(root, 'file'), '')
  const wanted = 'give the directory below which the agents are'
  for (const [given, said] of [
    [missing, `there is no such directory; ${wanted}, or start a session in it first, directory=\`${root}/miss·[31ming\``],
    [join(root, 'file'), `this is no directory; ${wanted}, directory=\`${root}/file\``],
  ]) {
    for (const mode of [[], ['--json'], ['--follow']]) {
      const { code, stdout, stderr } = await runNode([COORDINATOR, ...mode, given])
      assert.deepEqual({ code, stdout, stderr }, { code: 1, stdout: '', stderr: `coordinator: ${said}\n` })
    }
  }
})

test('an_agent_s_own_directory_is_a_fleet_of_one', async (t) => {
  const root = directoryFor(t)
  const session = sessionIn(root, 'worker')
  assert.match((await runNode([COORDINATOR, join(root, 'worker')])).stdout, /^AGENT.*\n\. +unknown .*claimed\n$/)
  session.close()
})

test('json_lines_have_every_field_and_every_digit', async (t) => {
  const root = directoryFor(t)
  mkdirSync(join(root, 'empty'))
  const session = sessionIn(root, 'worker')
  session.writer.observeSync({ state: 'idle', reason: 'a "quoted" reason' })
  const { stdout } = await runNode([COORDINATOR, '--json', root])
  const [worker, ...others] = stdout.trimEnd().split('\n').map((line) => JSON.parse(line))
  assert.deepEqual(others, [])
  assert.deepEqual([worker.agent, worker.state, worker.reason], ['worker', 'idle', 'a "quoted" reason'])
  assert.match(stdout, /"sinceMs":\d{13},/)
  session.close()
})

test('following_shows_each_change_as_it_comes_until_a_signal', async (t) => {
  const root = directoryFor(t)
  const first = sessionIn(root, 'first')
  const program = following(t, [root])
  await program.next((line) => /first\s+unknown.*claimed/.test(line))
  const started = performance.now()
  await first.writer.observe({ state: 'active' })
  await program.next((line) => /first\s+active/.test(line))
  assert.ok(performance.now() - started < 30_000)
  await first.writer.observe({ state: 'active', blockedOn: 'human', ask: 'question', reason: 'which one' })
  await program.next((line) => /first\s+active\s+human\s+question .* which one/.test(line))
  const second = sessionIn(root, 'second')
  await second.writer.observe({ state: 'idle' })
  await program.next((line) => /second\s+idle/.test(line))
  first.close()
  await program.next((line) => /first\s+unknown.*session-dead/.test(line))
  assert.deepEqual(await program.stop('SIGTERM'), [0, null])
  second.close()
})

test('following_as_json_shows_changes_and_no_heartbeats', async (t) => {
  const root = directoryFor(t)
  const session = sessionIn(root, 'worker')
  await session.writer.observe({ state: 'active' })
  const program = following(t, ['--json', root])
  const line = JSON.parse(await program.next((text) => text.includes('"active"')))
  assert.deepEqual([line.agent, line.state, typeof line.atMs], ['worker', 'active', 'number'])
  // A heartbeat is no change: the next line is of the end.
  await session.writer.heartbeat()
  await session.end('exit 0')
  assert.equal(JSON.parse(await program.next(() => true)).state, 'ended')
  assert.deepEqual(await program.stop('SIGINT'), [0, null])
})

test('a_wrong_call_is_told', async () => {
  for (const args of [[], ['--colour', '.'], ['a', 'b']]) {
    const wrong = await runNode([COORDINATOR, ...args])
    assert.deepEqual([wrong.code, wrong.stderr], [2, 'usage: coordinator.mjs [--follow] [--json] DIRECTORY\n'])
  }
})
