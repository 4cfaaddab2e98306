/** A run's result to a pull request: with Git, and with this system's sandbox where there is one. */

import assert from 'node:assert/strict'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Worker } from 'node:worker_threads'
import { sandboxReadiness } from '../lib/execution.js'
import { reconcileExecutionResult } from '../lib/execution_result.js'
import { CAPABILITY } from '../test-support/execution.mjs'
import { collectedFor, git, optionsOf } from '../test-support/publication.mjs'
import { PACKAGE, PROJECT, directoryFor } from '../test-support/seat.mjs'

const refusal = (code, reason) => (error) => {
  assert.deepEqual([error.code, ...(reason === undefined ? [] : [error.reason])], [code, ...(reason === undefined ? [] : [reason])], error.stack)
  return true
}

/** Whether commands can run here at all. */
const hasSandbox = await sandboxReadiness().then(() => true, () => false)

/** What a publication has come to, on a machine with a sandbox and on one without. */
function check(task, answer) {
  const head = git(task.checkout, 'rev-parse', 'HEAD')
  assert.notEqual(head, task.head)
  assert.equal(answer.appliedHead, head)
  if (!hasSandbox) {
    assert.deepEqual([answer.status, answer.reason], ['blocked', 'verification-sandbox-unavailable'])
    console.log(`no sandbox works on this machine: ${answer.detail}`)
    return
  }
  assert.deepEqual([answer.status, answer.pr?.number], ['published', 7], answer.detail)
  assert.equal(git(task.origin, 'rev-parse', 'refs/heads/task/1'), head)
  assert.deepEqual(task.service.calls, ['findPullRequest', 'createPullRequest'])
}

test('ex_art_33_a_result_is_published_once', async (t) => {
  const task = await collectedFor(t)
  const asked = []
  const entryStopped = (runId) => { asked.push(runId); return false }
  const options = optionsOf(task, ['grep -q two README'], { entryStopped })
  const answer = await reconcileExecutionResult(task.execution, task.runId, options)
  check(task, answer)
  assert.deepEqual([...new Set(asked)], ['run-1'])
  const count = asked.length
  assert.deepEqual(await reconcileExecutionResult(task.execution, task.runId, options), answer)
  assert.equal(asked.length, count)
  assert.deepEqual(readdirSync(task.scratch), [])
})

test('ex_art_35_what_the_publisher_is_given_and_its_own_push_takes_the_place_of_the_library_s', async (t) => {
  const task = await collectedFor(t)
  const given = []
  const { publisher } = task.service
  const own = {
    async push(place, call) {
      given.push(['push', place, call])
      git(task.checkout, 'push', '-q', place.origin, `${place.head}:refs/heads/${place.branch}`)
      return {}
    },
    async findPullRequest(place, call) {
      given.push(['find', place, call])
      return publisher.findPullRequest(place)
    },
    createPullRequest: publisher.createPullRequest,
  }
  check(task, await reconcileExecutionResult(task.execution, task.runId, optionsOf(task, ['true'], { publisher: own })))
  if (!hasSandbox) return
  assert.deepEqual(given.map(([name]) => name), ['push', 'find'])
  const [[, place, call]] = given
  const head = git(task.checkout, 'rev-parse', 'HEAD')
  assert.deepEqual(place, { runId: 'run-1', repo: 'org/repo', origin: task.origin, branch: 'task/1', base: 'main', head })
  assert.deepEqual(JSON.parse(call.inputJson), place)
  assert.ok(call.deadlineAt > Date.now())
})

test('ex_can_48_a_stopped_entry_and_a_stop_refuse', async (t) => {
  const task = await collectedFor(t)
  const stopped = optionsOf(task, [], { entryStopped: () => true })
  await assert.rejects(reconcileExecutionResult(task.execution, task.runId, stopped), refusal('EXECUTION_FENCED'))
  await task.execution.requestCancel({ reason: 'enough', controlId: 'stop-1' })
  await assert.rejects(reconcileExecutionResult(task.execution, task.runId, optionsOf(task, [])), refusal('EXECUTION_FENCED'))
  assert.deepEqual(task.service.calls, [])
  assert.equal(git(task.checkout, 'rev-parse', 'HEAD'), task.head)
})

test('what_is_wrong_is_an_error_that_names_it', async (t) => {
  const task = await collectedFor(t)
  const options = optionsOf(task, ['true'])
  const publish = (more, { runId = task.runId, execution = task.execution } = {}) => (
    reconcileExecutionResult(execution, runId, { ...options, ...more })
  )
  for (const change of [{ repo: null }, { author: {} }, { verification: {} }, { branch: 'main' }]) {
    await assert.rejects(publish({ plan: { ...options.plan, ...change } }), refusal('EXECUTION_INPUT'))
  }
  const changed = { ...options.plan.verification, source: 'another' }
  await assert.rejects(publish({ plan: { ...options.plan, verification: changed } }), refusal('EXECUTION_CONFLICT'))
  await assert.rejects(publish({}, { runId: 'run-9' }), refusal('EXECUTION_UNKNOWN_RUN'))
  for (const [more, name] of [
    [{ plan: 7 }, 'plan'], [{ checkout: 7 }, 'checkout'], [{ scratch: undefined }, 'scratch'], [{ publisher: null }, 'publisher'],
    [{ publisher: { findPullRequest() {} } }, 'createPullRequest'], [{ entryStopped: true }, 'entryStopped'],
    [{ runtime: { directory: '/usr' } }, 'programs'], [{ environment: 'PATH' }, 'environment'], [{ git: 'git' }, 'git'],
    [{ signal: {} }, 'signal'], [{ other: 1 }, 'other'],
  ]) {
    await assert.rejects(publish(more), (error) => refusal('GALLIVANT_INPUT')(error) && error.message.includes(name))
  }
  await assert.rejects(publish({}, { execution: {} }), refusal('GALLIVANT_INPUT'))
  await assert.rejects(publish({}, { runId: 7 }), refusal('GALLIVANT_INPUT'))
  const reason = new Error('enough')
  await assert.rejects(publish({ signal: AbortSignal.abort(reason) }), (error) => error === reason)
  assert.equal(git(task.checkout, 'rev-parse', 'HEAD'), task.head)
  await task.execution.close()
  await assert.rejects(publish({}), refusal('GALLIVANT_INPUT', 'closed'))
})

test('ex_art_47_ports_that_fail_leave_what_was_reached_and_are_asked_again', async (t) => {
  const task = await collectedFor(t)
  const publish = (more) => reconcileExecutionResult(task.execution, task.runId, optionsOf(task, ['true'], more))
  // What is neither true nor false stops nothing and lets nothing pass.
  for (const entryStopped of [() => {}, () => { throw new Error('no registry') }, async () => 'no']) {
    await assert.rejects(publish({ entryStopped }), refusal('EXECUTION_IO'))
  }
  assert.equal(git(task.checkout, 'rev-parse', 'HEAD'), task.head)
  await assert.rejects(publish({ git: { program: '/nonexistent/git' } }), refusal('EXECUTION_IO'))
  const fails = { ...task.service.publisher, createPullRequest: async () => { throw new Error('no service') } }
  if (hasSandbox) {
    await assert.rejects(publish({ publisher: fails }), refusal('EXECUTION_IO'))
    assert.deepEqual(task.service.calls.splice(0), ['findPullRequest'])
  }
  check(task, await publish())
})

test('ex_can_46_a_second_publication_is_refused_while_one_is_under_way', async (t) => {
  const task = await collectedFor(t, { limits: { lockWaitMs: 200 } })
  let release
  const held = new Promise((resolve) => { release = resolve })
  let reached
  const isThere = new Promise((resolve) => { reached = resolve })
  const entryStopped = async () => { reached(); await held; return false }
  const first = reconcileExecutionResult(task.execution, task.runId, optionsOf(task, ['true'], { entryStopped }))
  await isThere
  await assert.rejects(reconcileExecutionResult(task.execution, task.runId, optionsOf(task, ['true'])), refusal('EXECUTION_PUBLICATION_BUSY'))
  release()
  check(task, await first)
})

test('what_an_answer_leaves_to_the_garbage_collector_ends_nothing_later', async (t) => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc')
  const task = await collectedFor(t)
  const timer = setInterval(collectGarbage, 2)
  t.after(() => clearInterval(timer))
  check(task, await reconcileExecutionResult(task.execution, task.runId, optionsOf(task, ['sleep 0.3', 'sleep 0.3'])))
})

test('the_block_of_the_guide_publishes', async (t) => {
  const page = readFileSync(join(PROJECT, 'docs', 'guides', 'publish-a-result.md'), 'utf8')
  const [block, ...others] = [...page.matchAll(/^```js\n([^]*?)^```$/gm)].map(([, text]) => text)
  assert.deepEqual(others, [])
  const file = join(directoryFor(t), 'publish.mjs')
  writeFileSync(file, block.replace("'gallivant/execution-result'", JSON.stringify(new URL('../lib/execution_result.js', import.meta.url).href)))
  const { publish } = await import(pathToFileURL(file).href)
  const task = await collectedFor(t)
  const { plan, checkout, scratch } = optionsOf(task, ['grep -q two README'])
  const service = {
    find: async (...place) => { assert.deepEqual(place, ['org/repo', 'task/1', 'main']); return null },
    open: async (repo, { branch, title, body }) => ({ number: 9, repo, branch, title, body }),
  }
  const given = { runId: task.runId, plan, checkout, scratch, service, registry: { isStopped: () => false }, signal: undefined }
  const pr = await publish(task.execution, given)
  if (!hasSandbox) return assert.equal(pr.reason, 'verification-sandbox-unavailable')
  assert.deepEqual(pr, { number: 9, repo: 'org/repo', branch: 'task/1', title: 'A title', body: 'A body' })
})

/** A command that runs for as long as nobody ends it, with a number by which its process is known from outside of the sandbox. */
function endless() {
  const seconds = `${1000 + process.pid}.${performance.now().toFixed(0)}`
  const isRunning = () => readdirSync('/proc').filter((name) => /^\d+$/.test(name)).some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(`sleep\0${seconds}\0`)
    } catch {
      return false
    }
  })
  return { command: `exec sleep ${seconds}`, isRunning }
}

async function until(condition, what) {
  for (const began = Date.now(); !await condition(); await pause(10)) {
    assert.ok(Date.now() - began < 60_000, `it was waited for in vain: ${what}`)
  }
}

test('ex_ver_10_the_signal_ends_the_command_that_runs_and_nothing_else_waits_for_it', { skip: !hasSandbox }, async (t) => {
  const task = await collectedFor(t)
  const { command, isRunning } = endless()
  const controller = new AbortController()
  const reason = new Error('enough')
  const options = optionsOf(task, [command], { signal: controller.signal })
  let answer = null
  const publication = reconcileExecutionResult(task.execution, task.runId, options)
  publication.then((value) => { answer = value }, (error) => { answer = error })
  await until(() => isRunning() || answer !== null, 'the command')
  assert.equal(answer, null)
  // The pool is free: more reads than it has workers end while the command runs, those of the boundary too.
  await Promise.all(Array.from({ length: 32 }, () => readFile(join(task.checkout, 'README'))))
  await Promise.all(Array.from({ length: 32 }, () => task.execution.inspect()))
  assert.equal(isRunning(), true)
  controller.abort(reason)
  await assert.rejects(publication, (error) => error === reason)
  assert.equal(isRunning(), false)
  assert.deepEqual(readdirSync(task.scratch), [])
  const again = await reconcileExecutionResult(task.execution, task.runId, optionsOf(task, [command]))
  assert.deepEqual([again.status, again.reason], ['blocked', 'verification-interrupted'])
})

test('the_signal_ends_a_push_that_hangs_and_the_next_call_goes_on_from_there', { skip: !hasSandbox }, async (t) => {
  const task = await collectedFor(t)
  const { command, isRunning } = endless()
  const program = join(directoryFor(t), 'git')
  writeFileSync(program, `#!/bin/sh\nfor arg; do [ "$arg" = push ] && ${command}; done\nexec git "$@"\n`, { mode: 0o700 })
  const controller = new AbortController()
  const reason = new Error('enough')
  const variables = { PATH: '/usr/bin:/bin' }
  const options = optionsOf(task, ['true'], { git: { program, variables }, signal: controller.signal })
  const publication = reconcileExecutionResult(task.execution, task.runId, options)
  const ended = assert.rejects(publication, (error) => error === reason)
  await until(isRunning, 'the push')
  controller.abort(reason)
  await ended
  assert.equal(isRunning(), false)
  assert.deepEqual(task.service.calls, [])
  check(task, await reconcileExecutionResult(task.execution, task.runId, optionsOf(task, ['true'])))
})

test('a_boundary_that_is_closed_and_a_worker_that_ends_leave_no_command', { skip: !hasSandbox }, async (t) => {
  const closed = await collectedFor(t)
  const first = endless()
  const publication = reconcileExecutionResult(closed.execution, closed.runId, optionsOf(closed, [first.command]))
  publication.catch(() => {})
  await until(first.isRunning, 'the command of a boundary that is closed')
  await closed.execution.close()
  await assert.rejects(publication, refusal('GALLIVANT_INPUT', 'closed'))
  assert.equal(first.isRunning(), false)

  const task = await collectedFor(t)
  const second = endless()
  await task.execution.close()
  const { publisher: _, entryStopped: __, ...given } = optionsOf(task, [second.command])
  const source = `
    const { workerData: { execution, result, root, capabilities, given } } = require('node:worker_threads')
    const { makeExecution } = require(execution)
    const nothing = () => null
    const transport = Object.fromEntries(['submit', 'inspect', 'collect', 'cancel', 'continue', 'prepare', 'lookup'].map((name) => [name, nothing]))
    const task = makeExecution({ root, taskId: 'task', provider: 'memory', account: 'me', budgetUsd: 8, health: 'external', capabilities, transport })
    const publisher = { findPullRequest: nothing, createPullRequest: nothing }
    require(result).reconcileExecutionResult(task, 'run-1', { ...given, publisher, entryStopped: () => false })
  `
  const [execution, result] = ['execution', 'execution_result'].map((name) => join(PACKAGE, 'lib', `${name}.js`))
  const worker = new Worker(source, { eval: true, workerData: { execution, result, root: task.root, capabilities: CAPABILITY, given } })
  await until(second.isRunning, 'the command of a worker')
  assert.equal(await worker.terminate(), 1)
  assert.equal(second.isRunning(), false)
  assert.deepEqual(readdirSync(task.scratch), [])
})
