/** The example's page in Chromium: a real EventSource against the example's server, which grows, idles, dies and comes back. */

import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { HEARTBEAT_MS } from '../lib/journal.js'
import { clientFor } from '../test-support/events.mjs'
import { event, ids, runFor, until } from '../test-support/journal.mjs'
import { serverOver } from '../test-support/replay_server.mjs'
import { directoryFor } from '../test-support/seat.mjs'
import { browserFor } from './chromium.mjs'

/** Notes what every EventSource of the page is told; the page itself sees no difference. */
const NOTES = `
  window.notes = { events: [], opened: 0, failed: 0 }
  window.EventSource = class extends EventSource {
    constructor(...args) {
      super(...args)
      const note = ({ type, lastEventId, data }) => { notes.events.push({ type, id: lastEventId, data }) }
      for (const type of ['line', 'gap', 'heartbeat', 'message']) this.addEventListener(type, note)
      this.addEventListener('open', () => { notes.opened += 1 })
      this.addEventListener('error', () => { notes.failed += 1 })
    }
  }
`

/** A run, the server over it, and a browser that shows it. */
async function shown(t, name = 'run-1') {
  const runs = directoryFor(t)
  mkdirSync(join(runs, name))
  const run = runFor(t, join(runs, name))
  run.say(5)
  const server = await serverOver(t, runs)
  const browser = await browserFor(t)
  const url = `http://127.0.0.1:${server.port}/?run=${name}`
  const page = await browser.page(url, NOTES)
  const lastId = () => page('notes.events.at(-1)?.id')
  const sees = (id) => until(async () => await lastId() === id, `row ${id} in the browser`, 60_000)
  const rows = async () => {
    // They are painted with the frame after the one that they came in.
    await until(() => page('waiting.length === 0'), 'the rows are painted')
    return page("[...document.querySelectorAll('#lines > div')].map(({ className, textContent }) => [className, textContent])")
  }
  return { runs, run, server, browser, page, sees, rows, url }
}

test('ex_jrn_67_a_browser_gets_every_row_in_order_also_over_a_restart_of_the_server', { timeout: 180_000 }, async (t) => {
  const { runs, run, server, page, sees, rows } = await shown(t)
  await sees('5')
  for (let turn = 0; turn < 10; turn += 1) {
    run.say(10)
    await pause(20)
  }
  await sees('105')
  assert.equal(await page("document.getElementById('state').textContent"), 'live')
  // Once it is told to end, once it is killed; what is said meanwhile comes afterwards.
  let port = server.port
  let { child, over } = server
  for (const [signal, last] of [['SIGTERM', 125], ['SIGKILL', 145]]) {
    child.kill(signal)
    await over
    run.say(10)
    await until(() => page("document.getElementById('state').textContent === 'reconnecting'"), 'the browser notices', 60_000)
    const next = await serverOver(t, runs, String(port))
    ;({ child, over, port } = next)
    await until(() => page("document.getElementById('state').textContent === 'live'"), 'the browser reconnects', 60_000)
    run.say(10)
    await sees(String(last))
  }
  assert.deepEqual(await page('notes.events.map(({ id }) => id)'), ids(1, 145))
  assert.deepEqual(await rows(), ids(1, 145).map((id) => ['line', `text ${id}`]))
  assert.equal(await page('notes.opened'), 3)
})

test('ex_jrn_67_a_browser_sees_gaps_text_is_no_markup_and_lines_are_bounded', { timeout: 120_000 }, async (t) => {
  const { run, server, browser, sees, rows, page } = await shown(t)
  await sees('5')
  run.journal.appendSync([
    event('m', '<img src=x onerror="window.hacked = 1"><b>bold</b>'),
    { id: 'g', provenance: 'provider', reason: 'provider-gap' },
    event('n', 'a\nb\r\nc\u2028d\n\nid: 99\n\ndata: forged'),
  ])
  run.projection.catchUpSync()
  await sees('8')
  assert.deepEqual((await rows()).slice(5), [
    ['line', '<img src=x onerror="window.hacked = 1"><b>bold</b>'], ['gap', 'missing: not recorded'],
    ['line', 'a\nb\r\nc\u2028d\n\nid: 99\n\ndata: forged'],
  ])
  assert.equal(await page("window.hacked === undefined && document.querySelectorAll('#lines img, #lines b').length === 0"), true)
  assert.deepEqual(await page('notes.events.slice(5).map(({ type, id }) => `${type} ${id}`)'), ['line 6', 'gap 7', 'line 8'])
  run.say(2100)
  await until(async () => (await page('notes.events.length')) === 2108, 'every row', 60_000)
  assert.equal((await rows()).length, 2000)
  // Older rows are gone for a browser that comes now.
  run.projection.trimSync(2000)
  const late = await browser.page(`http://127.0.0.1:${server.port}/?run=run-1`, NOTES)
  await until(async () => (await late('notes.events.at(-1)?.id')) === '2108', 'the rows that stay', 60_000)
  assert.deepEqual(await late('[notes.events[0].type, notes.events[0].id, JSON.parse(notes.events[0].data).reason]'), ['gap', '', 'retained'])
  const unknown = await browser.page(`http://127.0.0.1:${server.port}/?run=nowhere`, NOTES)
  await until(() => unknown("document.getElementById('state')?.textContent === 'there is no such run'"), 'it says so', 60_000)
})

test('ex_jrn_70_ex_jrn_86_a_heartbeat_keeps_the_connection_and_moves_nothing', { timeout: 120_000 }, async (t) => {
  const { run, server, page, sees } = await shown(t)
  await sees('5')
  // Another client of the same server sees the bytes that the browser keeps to itself.
  const client = await clientFor(server.port, {}, undefined, '/runs/run-1/events')
  await until(() => client.events.comments === 1, 'a heartbeat', HEARTBEAT_MS + 30_000)
  await pause(500)
  assert.deepEqual(await page('[notes.events.length, notes.events.at(-1).id, notes.opened, notes.failed]'), [5, '5', 1, 0])
  assert.equal(client.events.lastId, '5')
  run.say(1)
  await sees('6')
  assert.deepEqual(await page('[notes.events.length, notes.opened, notes.failed]'), [6, 1, 0])
  client.req.destroy()
})

test('a_hundred_rows_a_second_arrive_once_in_several_pages_of_a_browser', { timeout: 120_000 }, async (t) => {
  const { run, browser, url, sees, page } = await shown(t)
  const pages = [page, ...await Promise.all([1, 2, 3].map(() => browser.page(url, NOTES)))]
  for (let turn = 0; turn < 40; turn += 1) {
    run.say(10)
    await pause(25)
  }
  await sees('405')
  for (const one of pages) {
    await until(async () => (await one('notes.events.at(-1)?.id')) === '405', 'every page', 60_000)
    assert.deepEqual(await one('notes.events.map(({ id }) => id)'), ids(1, 405))
  }
})
