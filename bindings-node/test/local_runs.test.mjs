/** Local runs from Node: a shell script in the place of a harness, started, watched, stopped and settled. */

import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import * as ex from '../lib/execution.js'
import { directoryFor } from '../test-support/seat.mjs'

const SUPERVISOR = fileURLToPath(new URL('../gallivant-supervise', import.meta.url))
const skip = existsSync(SUPERVISOR) ? false : 'make build puts the supervisor beside the package'
const RECORD = {
  provider: 'prov', transport: 'process', location: 'local', newDispatch: { available: true, reason: null },
  authentication: { scheme: 'none', secretNames: [] }, environments: { required: false, allowed: null }, models: 'native',
  policies: { required: true, allowed: ['safe'] }, preparation: null, continuation: 'native', observability: 'events',
  cancel: true, interrupt: true, cost: { reports: true, hardCap: false }, qualification: null,
}
const STUBBORN = "trap '' TERM; echo $$ > pid; while true; do sleep 0.05; done"

/** A boundary with the built-in process host, and the input of a run of a script. */
function place(t, runner = {}) {
  const directory = directoryFor(t)
  const options = { taskId: 't-1', provider: 'prov', account: 'acct', capabilities: RECORD, health: 'external' }
  const execution = ex.makeExecution({ root: join(directory, 'task'), runner, ...options })
  t.after(() => execution.close())
  const work = (script) => ({
    operationId: 'op-1', runId: 'run-1', prompt: 'do it', policy: 'safe',
    spec: { argv: ['/bin/sh', '-c', script], cwd: directory, env: { PATH: '/usr/bin:/bin' } },
  })
  const began = async () => {
    const mark = join(directory, 'pid')
    for (let tries = 0; !(existsSync(mark) && readFileSync(mark, 'utf8').endsWith('\n')); tries++) {
      assert.ok(tries < 20_000, 'the script never began')
      await pause(5)
    }
  }
  return { began, directory, execution, work }
}

test('ex_bnd_24_a_run_is_started_read_and_settled', { skip }, async (t) => {
  const { directory, execution, work } = place(t)
  const job = await execution.start(work('echo said; exit 3'))
  assert.deepEqual(await execution.read('run-1'), await execution.current())
  assert.equal(execution.dirOf('run-1'), join(directory, 'task', 'run-1'))
  assert.notEqual(job.process.pid, job.process.supervisor.pid)
  assert.equal(await execution.waitForKill('run-1', { timeoutMs: 60_000 }), true)
  const outcome = await execution.settle('run-1')
  assert.deepEqual([outcome.ok, outcome.exit], [false, 3])
  assert.deepEqual(await execution.settle('run-1'), outcome)
  for (let passes = 0; passes < 3; passes++) await execution.reconcile({ force: true })
  const { rows } = await execution.lines('run-1')
  assert.match(JSON.stringify(rows), /said/)
  assert.equal((await execution.lines('run-1', { limit: 1 })).rows.length, 1)
})

test('ex_bnd_29_ex_bnd_30_a_stubborn_tree_is_killed_when_it_is_due', { skip }, async (t) => {
  const { began, execution, work } = place(t)
  await execution.start(work(STUBBORN))
  await began()
  assert.equal(await execution.settle('run-1'), null)
  assert.equal(await execution.waitForKill('run-1', { timeoutMs: 50 }), false)
  assert.equal((await execution.kill('run-1', { reason: 'enough', killAfterMs: 100 })).confirmed, false)
  assert.equal(await execution.isGone('run-1'), false)
  assert.equal(await execution.waitForKill('run-1', { timeoutMs: 60_000 }), true)
  await execution.reconcile({ force: true })
  assert.equal((await execution.settle('run-1')).ok, false)
})

test('a_signal_ends_the_wait_with_its_reason', { skip }, async (t) => {
  const { began, execution, work } = place(t)
  await execution.start(work(STUBBORN))
  await began()
  const reason = new Error('enough waited')
  const controller = new AbortController()
  const waiting = execution.waitForKill('run-1', { timeoutMs: 60_000 }, { signal: controller.signal })
  setImmediate(() => controller.abort(reason))
  await assert.rejects(waiting, reason)
  await assert.rejects(execution.waitForKill('run-1', { timeoutMs: 'long' }), { code: 'GALLIVANT_INPUT' })
  await execution.kill('run-1', { reason: 'enough', killAfterMs: 0 })
  // The pass that is to kill what is left rejects with what its signal was fired with, which may be nothing at all.
  execution.reconcile = () => Promise.reject(null)
  assert.equal(await execution.waitForKill('run-1', { timeoutMs: 60_000 }).catch((thrown) => thrown), null)
  delete execution.reconcile
  assert.equal(await execution.waitForKill('run-1', { timeoutMs: 60_000 }), true)
})

test('ex_loc_01_without_the_supervisor_nothing_is_dispatched', { skip }, async (t) => {
  const { execution, work } = place(t, { supervisor: '/nowhere/at/all' })
  await assert.rejects(execution.start(work('true')), (error) => {
    assert.deepEqual([error.code, error.reason], ['EXECUTION_CAPABILITY', 'unavailable'])
    assert.match(error.remedy, /GALLIVANT_SUPERVISE/)
    return true
  })
})

const PREPARED = {
  ...RECORD, preparation: { version: 1, boundary: 'tools-off', authority: 'native', environment: 'native' },
}

/** A boundary whose harness is this script when it is asked for its version, and what is to be prepared. */
function preparing(t, script) {
  const directory = directoryFor(t)
  const program = join(directory, 'drafter')
  writeFileSync(program, `#!/bin/sh\necho $$ > '${directory}/pid'\n${script}\necho 2.0\n`, { mode: 0o755 })
  const profile = {
    program, start: [], resume: [], prompt: 'stdin', output: 'exit',
    preparation: { boundary: 'tools-off', minimumVersion: '1', version: ['--version'], render: ['draft'] },
  }
  const execution = ex.makeExecution({
    root: join(directory, 'task'), runner: { harnesses: { prov: profile } }, taskId: 't-1', provider: 'prov', account: 'acct',
    capabilities: PREPARED, health: 'external', limits: { lockWaitMs: 100 },
  })
  t.after(() => execution.close())
  const input = { operationId: 'op-1', phase: 'draft', prompt: 'plan it', environment: { PATH: '/usr/bin:/bin' } }
  return { directory, execution, input }
}

test('ex_pre_33_a_version_takes_longer_than_the_wait_for_the_lock_may', async (t) => {
  const { execution, input } = preparing(t, 'sleep 0.5')
  const { native } = await execution.prepare(input)
  assert.deepEqual(native.args, ['draft'])
})

test('ex_pre_10_a_signal_ends_the_harness_that_is_asked_for_its_version', async (t) => {
  const { directory, execution, input } = preparing(t, 'sleep 60')
  const controller = new AbortController()
  const prepared = execution.prepare(input, { signal: controller.signal })
  const mark = join(directory, 'pid')
  for (let tries = 0; !(existsSync(mark) && readFileSync(mark, 'utf8').endsWith('\n')); tries++) {
    assert.ok(tries < 20_000, 'it was never asked')
    await pause(5)
  }
  controller.abort(new Error('enough'))
  await assert.rejects(prepared, { message: 'enough' })
  assert.throws(() => process.kill(Number(readFileSync(mark, 'utf8')), 0), { code: 'ESRCH' })
})
