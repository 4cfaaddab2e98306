#!/usr/bin/env node
/**
 * A small coordinator of paid work: it takes tasks over HTTP, has each done once by a provider of hosted agents, and shows them,
 * their output and its agents in a browser.
 *
 *     HOSTED_AGENTS_KEY=… node serve.mjs ROOT PROVIDER [--port 8080] [--agents DIRECTORY] [--progress-ms 10000] [--repository FILE]
 *
 * ROOT is where it keeps everything, PROVIDER the provider's address; FILE describes the repository to which results are published
 * (`publishing.mjs`). It says `ready http://127.0.0.1:PORT` once it listens. Kill it at any moment, in any way, and start it again:
 * it goes on. On SIGINT and SIGTERM it lets a submit and a publication end that have begun, and gives everything else up.
 */

import { setMaxListeners } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'

// In a program of your own: from 'gallivant'
import { IdempotencyStore, watchFleet } from '../../bindings-node/lib/index.js'
import { Publishing, readRepository } from './publishing.mjs'
import { Tasks } from './tasks.mjs'
import { hostedAgents } from './transport.mjs'
import { webOver } from './web.mjs'

const USAGE = 'usage: serve.mjs ROOT PROVIDER [--port PORT] [--agents DIRECTORY] [--progress-ms MS] [--repository FILE]'
/** So many tasks are worked on at once, in each lane. */
const CONCURRENCY = 8
/** So many results are verified at once: their commands have this machine to themselves. */
const PUBLICATIONS = 2

const say = (line) => console.error(`coordinator: ${line.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '·')}`)

/** What wakes a loop before its time. A ring that nobody waits for is for the next wait. */
class Bell {
  #isRung = false
  #end = () => {}

  async wait(ms, signal) {
    const until = new AbortController()
    this.#end = () => until.abort()
    if (!this.#isRung) await pause(ms, null, { signal: AbortSignal.any([until.signal, signal]) }).catch(() => {})
    this.#isRung = false
  }

  ring() {
    this.#isRung = true
    this.#end()
  }
}

/** Turns of work until the end. What a turn fails with is said, and the next turn tries again. */
async function loop(turn, everyMs, bell, signal) {
  while (!signal.aborted) {
    try {
      await turn()
    } catch (error) {
      if (!signal.aborted) say(error.message)
    }
    if (!signal.aborted) await bell.wait(everyMs, signal)
  }
}

/** What every agent below a directory does, kept up to date. */
async function watchAgents(directory, agents, signal) {
  try {
    for await (const { seats } of watchFleet(directory, { probe: 'lease', signal })) {
      for (const { path, state } of seats) {
        if (state === null) agents.delete(path)
        else agents.set(path, { agent: path, state: state.state, blockedOn: state.blockedOn, ask: state.ask, reason: state.reason })
      }
    }
  } catch (error) {
    if (!signal.aborted) say(`the agents are not watched: ${error.message}`)
  }
}

function argumentsOf(given) {
  try {
    const text = { type: 'string' }
    const options = { port: text, agents: text, 'progress-ms': text, repository: text }
    const { values, positionals } = parseArgs({ args: given, options, allowPositionals: true })
    const [root, provider] = positionals
    const [port, progressMs] = [Number(values.port ?? 8080), Number(values['progress-ms'] ?? 10_000)]
    if (positionals.length !== 2 || !Number.isInteger(port) || !Number.isInteger(progressMs)) return null
    return { root, provider, port, progressMs, agents: values.agents ?? join(root, 'agents'), repository: values.repository ?? null }
  } catch {
    return null
  }
}

async function main() {
  const wanted = argumentsOf(process.argv.slice(2))
  if (wanted === null) {
    console.error(USAGE)
    return 2
  }
  const key = process.env.HOSTED_AGENTS_KEY
  if (!key) {
    say('the provider needs a key, variable=`HOSTED_AGENTS_KEY`')
    return 1
  }
  const ending = new AbortController()
  // Each call and each stream that goes on listens to it, and stops to when it ends.
  setMaxListeners(0, ending.signal)
  for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => ending.abort())
  const { signal } = ending
  for (const directory of [wanted.root, wanted.agents]) await mkdir(directory, { recursive: true, mode: 0o700 })

  const store = await IdempotencyStore.open(join(wanted.root, 'creates.sqlite'))
  const publishing = wanted.repository && new Publishing({ root: wanted.root, repository: await readRepository(wanted.repository) })
  await publishing?.open()
  const transport = (place) => hostedAgents({ address: wanted.provider, key, place })
  const tasks = new Tasks({ root: wanted.root, transport, publishing, secrets: [key], limits: { progressMs: wanted.progressMs }, report: say })
  await tasks.open()
  await tasks.load()

  const [agents, asked, due, made] = [new Map(), new Bell(), new Bell(), new Bell()]
  const wake = () => { for (const bell of [asked, due, made]) bell.ring() }
  const repo = publishing?.repo ?? null
  const web = webOver({ tasks, store, repo, agents: () => [...agents.values()], wake, ending: signal, report: say })
  const server = createServer(web)
  await new Promise((resolve, reject) => { server.once('error', reject).listen(wanted.port, '127.0.0.1', resolve) })
  console.log(`ready http://127.0.0.1:${server.address().port}`)

  // A loop for each, so that a submit which hangs until its deadline keeps nobody's pass (EX-SCH-27), and commands nobody's submit.
  await Promise.all([
    watchAgents(wanted.agents, agents, signal),
    loop(async () => {
      await tasks.load()
      await tasks.startup(CONCURRENCY, signal)
      await tasks.dispatch(CONCURRENCY, signal)
    }, 500, asked, signal),
    loop(async () => {
      await tasks.progress(CONCURRENCY, signal)
      if (tasks.list().some(({ phase }) => phase === 'publishes')) made.ring()
    }, 200, due, signal),
    loop(() => tasks.publish(PUBLICATIONS, signal), 1000, made, signal),
    new Promise((resolve) => { signal.addEventListener('abort', () => server.close(resolve), { once: true }) }),
  ])
  await tasks.close()
  await store.close()
  return 0
}

process.exitCode = await main().catch((error) => {
  say(error.message)
  return 1
})
