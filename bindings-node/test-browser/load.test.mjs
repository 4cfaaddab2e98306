/**
 * The coordinator's page under load: ten runs that say a thousand lines a second each. Every row arrives once and in order, the page
 * is not far behind, and what it keeps is bounded. Over a minute and more, neither the page nor the coordinator takes more memory in
 * the end than at first. Part of `make soak`.
 *
 * GALLIVANT_LOAD_SECONDS is for how long (5), GALLIVANT_LOAD_LINES how many lines a second each run says (1,000).
 */

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { makeExecution } from '../lib/execution.js'
import { Journal, Projection } from '../lib/journal.js'
import { Redactor } from '../lib/redaction.js'
import { CAPABILITIES } from '../../examples/node-coordinator/transport.mjs'
import { coordinatorFor } from '../test-support/coordinator.mjs'
import { until } from '../test-support/journal.mjs'
import { providerFor } from '../test-support/provider.mjs'
import { browserFor } from './chromium.mjs'

const RUNS = 10
const SECONDS = Number(process.env.GALLIVANT_LOAD_SECONDS ?? 5)
const LINES = Number(process.env.GALLIVANT_LOAD_LINES ?? 1000)
const TURNS_A_SECOND = 10
/** How many seconds lie between two looks at the memory, and from how many looks on they are compared. */
const LOOK_SECONDS = 5
const LOOKS = 12
/** What may be taken beyond what was taken at first: what an engine has not collected yet is no growth. */
const SLACK_MB = { coordinator: 48, page: 4 }
const MB = 1024 * 1024

/** Notes of each task which row came last, how many came, and how many came out of their order; the page sees no difference. */
const NOTES = `
  window.notes = {}
  window.EventSource = class extends EventSource {
    constructor(...args) {
      super(...args)
      this.addEventListener('line', ({ data }) => {
        const { task, row } = JSON.parse(data)
        const note = notes[task] ??= { last: 0, count: 0, wrong: 0 }
        if (Number(row.id) <= note.last) return
        if (Number(row.id) !== note.last + 1) note.wrong += 1
        note.last = Number(row.id)
        note.count += 1
      })
    }
  }
`

/** What a process has of the machine's memory. */
function residentMb(pid) { return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))[1]) / 1024 }

/** The most that was taken in each quarter of the looks. In the first the engines compile, and the page fills up to what it keeps. */
function quartersOf(looks, name) {
  const length = Math.floor(looks.length / 4)
  return [0, 1, 2, 3].map((at) => Math.max(...looks.slice(at * length, (at + 1) * length).map((look) => look[name])))
}

/**
 * A run's journal has one writer at a time, who has its task's lock. Here that is this test, and so the lock is held by a pass that
 * waits for its transport; the coordinator, whose first pass is over then, finds the task busy.
 */
async function lockOf(t, root, taskId) {
  const nobody = { submit: async () => null, inspect: async () => null, collect: async () => null }
  const { provider } = CAPABILITIES
  const execution = makeExecution({ root, taskId, provider, account: 'main', capabilities: CAPABILITIES, budgetUsd: 1, health: 'external', transport: nobody })
  t.after(() => execution.close())
  await until(async () => (await execution.inspect()).execution.reconciledAt !== null, 'the first pass', 60_000)
  const pass = execution.machine('reconcile', { force: true })
  assert.equal((await pass.start()).method, 'inspect')
  return pass
}

test('ten_runs_at_a_thousand_lines_a_second_are_shown_as_they_come', { timeout: (SECONDS + 300) * 1000 }, async (t) => {
  const place = mkdtempSync(join(tmpdir(), 'gallivant-'))
  const provider = await providerFor(t, join(place, 'provider.json'))
  // The provider's own agents say nothing: the runs' journals are written here, which is what a pass does at its own pace.
  await provider.control('/agents', { lines: 1, everyMs: 100_000_000, costUsd: 0, page: 100 })
  const coordinator = await coordinatorFor(t, join(place, 'root'), provider, ['--progress-ms', String(300_000)])
  t.after(() => rmSync(place, { recursive: true, force: true }))
  const runs = []
  for (let at = 0; at < RUNS; at += 1) {
    const { body: { id } } = await coordinator.create(`wish-${at}`, `run ${at}`)
    const { runId, job } = await coordinator.until(id, (task) => task.job !== null)
    const directory = join(place, 'root', 'tasks', id, 'work', runId)
    const lock = await lockOf(t, dirname(directory), id)
    const owner = { taskId: id, runId, provider: 'hosted-agents', jobId: job, turnId: job.replace('job', 'turn') }
    const journal = await Journal.open(directory, owner, new Redactor([]))
    runs.push({ id, lock, journal, projection: await Projection.open(directory), said: 0 })
  }
  const browser = await browserFor(t)
  const page = await browser.page(coordinator.url, NOTES)
  const shown = "document.querySelectorAll('.task').length"
  await until(async () => await page(shown) === RUNS, 'the tasks', 60_000)
  const notes = () => page('notes')
  const missing = async () => {
    const seen = await notes()
    return runs.map(({ id, said }) => said - (seen[id]?.last ?? 0))
  }
  const began = performance.now()
  const looks = []
  let behind = 0
  for (let turn = 0; turn < SECONDS * TURNS_A_SECOND; turn += 1) {
    await Promise.all(runs.map(async (run) => {
      const lines = Array.from({ length: LINES / TURNS_A_SECOND }, (_, at) => (
        { id: `e${run.said + at + 1}`, provenance: 'provider', type: 'message', data: `line ${run.said + at + 1} of a run that talks fast` }
      ))
      await run.journal.append(lines)
      await run.projection.catchUp()
      run.said += lines.length
    }))
    if (turn % TURNS_A_SECOND === TURNS_A_SECOND - 1) {
      behind = Math.max(behind, ...await missing())
    }
    if (turn % (TURNS_A_SECOND * LOOK_SECONDS) === TURNS_A_SECOND * LOOK_SECONDS - 1) {
      looks.push({ coordinator: residentMb(coordinator.child.pid), page: await page.heapBytes() / MB })
    }
    await pause(Math.max(0, began + (turn + 1) * 1000 / TURNS_A_SECOND - performance.now()))
  }
  const tookMs = performance.now() - began
  await until(async () => (await missing()).every((rows) => rows === 0), 'every row', 120_000)
  const lateMs = performance.now() - began - tookMs
  for (const note of Object.values(await notes())) assert.deepEqual(note, { last: SECONDS * LINES, count: SECONDS * LINES, wrong: 0 })
  const kept = await page("Math.max(...[...document.querySelectorAll('.output')].map(({ childElementCount }) => childElementCount))")
  assert.ok(kept <= 400, `the page keeps ${kept} lines of a run`)
  const rate = Math.round(RUNS * SECONDS * LINES / (tookMs / 1000))
  console.log(`page under load: ${RUNS} runs, ${rate} lines a second in all, at most ${behind} lines behind, all there ${Math.round(lateMs)} ms after the last`)
  for (const name of looks.length < LOOKS ? [] : Object.keys(SLACK_MB)) {
    const quarters = quartersOf(looks, name)
    console.log(`memory of the ${name}, at most in each quarter: ${quarters.map((mb) => mb.toFixed(1)).join(', ')} MB`)
    assert.ok(quarters[3] <= quarters[1] + SLACK_MB[name], `the ${name} grows: ${looks.map((look) => look[name].toFixed(1)).join(' ')}`)
  }
  for (const { lock, journal, projection } of runs) {
    await lock.drop()
    await journal.close()
    await projection.close()
  }
})
