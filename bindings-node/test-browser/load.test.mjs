/**
 * The coordinator's page under load: ten runs that say a thousand lines a second each. Every row arrives once and in order, the page
 * is not far behind, and what it keeps is bounded. Part of `make soak`.
 *
 * GALLIVANT_LOAD_SECONDS is for how long (5), GALLIVANT_LOAD_LINES how many lines a second each run says (1,000).
 */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Journal, Projection } from '../lib/journal.js'
import { Redactor } from '../lib/redaction.js'
import { coordinatorFor } from '../test-support/coordinator.mjs'
import { until } from '../test-support/journal.mjs'
import { providerFor } from '../test-support/provider.mjs'
import { browserFor } from './chromium.mjs'

const RUNS = 10
const SECONDS = Number(process.env.GALLIVANT_LOAD_SECONDS ?? 5)
const LINES = Number(process.env.GALLIVANT_LOAD_LINES ?? 1000)
const TURNS_A_SECOND = 10

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

test('ten_runs_at_a_thousand_lines_a_second_are_shown_as_they_come', { timeout: (SECONDS + 300) * 1000 }, async (t) => {
  const place = mkdtempSync(join(tmpdir(), 'gallivant-'))
  const provider = await providerFor(t, join(place, 'provider.json'))
  // The provider's own agents say nothing: the runs' journals are written here, which is what a pass does at its own pace.
  await provider.control('/agents', { lines: 1, everyMs: 100_000_000, costUsd: 0, page: 100 })
  const coordinator = await coordinatorFor(t, join(place, 'root'), provider)
  t.after(() => rmSync(place, { recursive: true, force: true }))
  const runs = []
  for (let at = 0; at < RUNS; at += 1) {
    const { body: { id } } = await coordinator.create(`wish-${at}`, `run ${at}`)
    const { runId, job } = await coordinator.until(id, (task) => task.job !== null)
    const directory = join(place, 'root', 'tasks', id, 'work', runId)
    const owner = { taskId: id, runId, provider: 'hosted-agents', jobId: job, turnId: job.replace('job', 'turn') }
    const journal = await Journal.open(directory, owner, new Redactor([]))
    runs.push({ id, journal, projection: await Projection.open(directory), said: 0 })
  }
  const browser = await browserFor(t)
  const page = await browser.page(coordinator.url, NOTES)
  const shown = "document.querySelectorAll('.task').length"
  await until(async () => await page(shown) === RUNS, 'the tasks', 60_000)
  const notes = () => page('notes')
  const began = performance.now()
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
      const seen = await notes()
      behind = Math.max(behind, ...runs.map(({ id, said }) => said - (seen[id]?.last ?? 0)))
    }
    await pause(Math.max(0, began + (turn + 1) * 1000 / TURNS_A_SECOND - performance.now()))
  }
  const tookMs = performance.now() - began
  await until(async () => {
    const seen = await notes()
    return runs.every(({ id, said }) => seen[id]?.last === said)
  }, 'every row', 120_000)
  const lateMs = performance.now() - began - tookMs
  for (const note of Object.values(await notes())) assert.deepEqual(note, { last: SECONDS * LINES, count: SECONDS * LINES, wrong: 0 })
  const kept = await page("Math.max(...[...document.querySelectorAll('.output')].map(({ childElementCount }) => childElementCount))")
  assert.ok(kept <= 400, `the page keeps ${kept} lines of a run`)
  const rate = Math.round(RUNS * SECONDS * LINES / (tookMs / 1000))
  console.log(`page under load: ${RUNS} runs, ${rate} lines a second in all, at most ${behind} lines behind, all there ${Math.round(lateMs)} ms after the last`)
  for (const { journal, projection } of runs) {
    await journal.close()
    await projection.close()
  }
})
