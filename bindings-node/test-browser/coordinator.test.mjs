/** The coordinator's page in Chromium: tasks are made, watched, stopped, and shown on over a death of the coordinator. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { sandboxReadiness } from '../lib/execution.js'
import { Session } from '../lib/index.js'
import { coordinatorFor } from '../test-support/coordinator.mjs'
import { until } from '../test-support/journal.mjs'
import { providerFor } from '../test-support/provider.mjs'
import { git, repositoryFor, sha256 } from '../test-support/publication.mjs'
import { browserFor } from './chromium.mjs'

/** What the page shows of each task, the newest first. */
const CARDS = `[...document.querySelectorAll('.task')].map((card) => ({
  word: card.querySelector('.word').textContent, prompt: card.querySelector('.prompt').textContent, note: card.querySelector('.note').textContent,
  lines: [...card.querySelectorAll('.output > div')].map(({ textContent }) => textContent),
}))`

/** Whether commands can run here at all. */
const hasSandbox = await sandboxReadiness().then(() => true, () => false)

async function shown(t, agents, more = []) {
  const place = mkdtempSync(join(tmpdir(), 'gallivant-'))
  const provider = await providerFor(t, join(place, 'provider.json'))
  await provider.control('/agents', agents)
  const coordinator = await coordinatorFor(t, join(place, 'root'), provider, more)
  t.after(() => rmSync(place, { recursive: true, force: true }))
  const browser = await browserFor(t)
  const page = await browser.page(coordinator.url, 'window.hacked = undefined')
  await until(() => page("(document.getElementById('state')?.textContent ?? 'connecting') !== 'connecting'"), 'the page answers', 60_000)
  /** Fills the form and sends it. */
  const wish = async (prompt) => {
    await page(`(() => { const form = document.getElementById('create'); form.elements.prompt.value = ${JSON.stringify(prompt)}; form.requestSubmit() })()`)
    await until(async () => (await page(CARDS)).some((card) => card.prompt === prompt), 'the task', 60_000)
  }
  const card = async (prompt) => (await page(CARDS)).find((one) => one.prompt === prompt)
  return { place, provider, coordinator, page, wish, card }
}

test('a_task_is_made_watched_and_shown_on_over_a_death_of_the_coordinator', { timeout: 180_000 }, async (t) => {
  const { place, provider, coordinator, page, wish, card } = await shown(t, { lines: 8, everyMs: 400, costUsd: 0.25, page: 100 })
  const session = Session.startSync(join(place, 'root', 'agents', 'worker-1'), { agent: 'worker-1', harness: 'claude', ptySession: 'w' })
  t.after(() => session.close())
  session.writer.observeSync({ state: 'active', blockedOn: 'human', ask: 'permission', reason: '<img src=x onerror="window.hacked = 1">' })
  await wish('mend the build')
  await wish('<b>write</b> the tests')
  await until(async () => (await card('mend the build')).lines.length >= 2, 'some output', 60_000)
  const port = new URL(coordinator.url).port
  await coordinator.end('SIGKILL')
  await until(() => page("document.getElementById('state').textContent.includes('does not answer')"), 'the page notices', 60_000)
  await coordinator.start(port)
  for (const prompt of ['mend the build', '<b>write</b> the tests']) {
    await until(async () => (await card(prompt)).word === 'succeeded' && (await card(prompt)).lines.length >= 8, prompt, 60_000)
    const { lines } = await card(prompt)
    assert.deepEqual(lines.map((line) => line.replace(/^turn-\d+ /, '')), Array.from({ length: 8 }, (_, at) => `line ${at + 1}`))
  }
  assert.deepEqual(await page("[...document.querySelectorAll('#agents td')].map(({ textContent }) => textContent)"), [
    'worker-1', 'active', 'human', 'permission', '<img src=x onerror="window.hacked = 1">',
  ])
  assert.equal(await page("window.hacked === undefined && document.querySelectorAll('#tasks b, #agents img').length === 0"), true)
  assert.deepEqual((await provider.control('/books')).turns.map(({ came }) => came), [1, 1])
  const picture = await page.screenshot()
  assert.deepEqual([picture.subarray(1, 4).toString(), picture.length > 10_000], ['PNG', true])
  if (process.env.SCREENSHOT) writeFileSync(process.env.SCREENSHOT, picture)
})

test('a_task_is_stopped_on_the_page', { timeout: 120_000 }, async (t) => {
  const { provider, page, wish, card } = await shown(t, { lines: 8, everyMs: 60_000, costUsd: 0.25, page: 100 })
  await wish('count to a million')
  await until(async () => (await card('count to a million')).word === 'queued', 'it is at the provider', 60_000)
  await page("document.querySelector('.task button').click()")
  await until(async () => (await card('count to a million')).word === 'cancelled', 'it is stopped', 60_000)
  assert.equal((await provider.control('')).cancellations, 1)
})

test('a_result_is_published_where_the_box_is_ticked_and_a_block_names_itself', { timeout: 120_000, skip: !hasSandbox }, async (t) => {
  const { origin, scratch: place } = repositoryFor(t)
  const [file, checks] = [join(place, 'repository.json'), join(place, 'checks')]
  writeFileSync(checks, 'grep -q two README\n')
  const author = { name: 'A Coordinator', email: 'coordinator@example.org' }
  writeFileSync(file, JSON.stringify({ repo: 'org/repo', origin, base: 'main', author, checks, approvedHash: sha256('grep -q two README\n') }))
  const edit = { path: 'README', beforeHash: sha256('one\n'), afterHash: sha256('two\n'), text: 'two\n' }
  const agents = { lines: 1, everyMs: 20, costUsd: 0.25, page: 100, pr: { title: '<i>Say</i> two', body: '' } }
  const { provider, page, wish, card } = await shown(t, { ...agents, files: [edit] }, ['--repository', file])
  await until(() => page("!document.getElementById('publish').hidden"), 'the box', 60_000)
  assert.match(await page("document.getElementById('publish').textContent"), /org\/repo/)
  await page("document.querySelector('[name=publish]').click()")
  await wish('say two')
  await until(async () => (await card('say two')).word === 'published', 'it is published', 60_000)
  const [head] = /^[0-9a-f]{12}(?=, <i>Say<\/i> two$)/.exec((await card('say two')).note)
  assert.equal(git(origin, 'for-each-ref', '--format=%(objectname)', 'refs/heads/task').slice(0, 12), head)
  await provider.control('/agents', { ...agents, files: [{ ...edit, path: '../README', beforeHash: null }] })
  await wish('say it elsewhere')
  await until(async () => (await card('say it elsewhere')).word === 'blocked', 'it is blocked', 60_000)
  assert.match((await card('say it elsewhere')).note, /^for a person to look at: result-validation, .*detail=`parent`$/)
  assert.equal(await page("document.querySelectorAll('#tasks i').length"), 0)
})
