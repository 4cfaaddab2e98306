#!/usr/bin/env node
/**
 * Shows what a fleet of coding agents is doing: each sub-directory of a directory is one agent.
 *
 *     node coordinator.mjs DIRECTORY              what every agent does now
 *     node coordinator.mjs --follow DIRECTORY     and then a line for each change, until SIGINT or SIGTERM
 *     node coordinator.mjs --json DIRECTORY       the same as JSON lines, for other programs
 *
 * It only reads: no lock is taken, nothing is created, and no agent waits for it. A state that cannot be known is shown
 * as `unknown` with the reason; it is never guessed.
 */

import { readdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'

// In a program of your own: import { Reader } from 'gallivant'
import { Reader } from '../../bindings-node/lib/index.js'

/** How often a followed fleet is looked at, in milliseconds. */
const INTERVAL_MS = 75
/** How many agents are read at once. */
const CONCURRENCY = 8

const USAGE = 'usage: coordinator.mjs [--follow] [--json] DIRECTORY'

/** The agents below a directory, with one reader each, which is kept from one look to the next. */
class Fleet {
  #root
  #readers = new Map()

  constructor(root) { this.#root = root }

  /** Looks at every agent once. Answers a map from the agent's name to its state, null where nothing was observed. */
  async look(signal) {
    const entries = await readdir(this.#root, { withFileTypes: true }).catch((error) => {
      throw new Error(whyNot(error, this.#root))
    })
    const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name).sort()
    for (const name of this.#readers.keys()) if (!names.includes(name)) this.#readers.delete(name)
    for (const name of names) {
      if (!this.#readers.has(name)) this.#readers.set(name, new Reader(join(this.#root, name)))
    }
    const states = new Map(names.map((name) => [name, null]))
    const left = [...this.#readers]
    const readOn = async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        const [name, reader] = next
        // The lease is held for a session's life and released by its death, so a dead one is known at once.
        states.set(name, await reader.read({ probe: 'lease', signal }))
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, readOn))
    const isAgent = entries.some((entry) => entry.name === 'harness-state')
    // Whoever gives an agent's own directory would be shown whatever the agent keeps in it, or nothing.
    if (isAgent && [...states.values()].every((state) => state === null)) {
      const above = clean(dirname(resolve(this.#root)))
      throw new Error(`this is one agent's own directory; give the one above it, directory=\`${above}\``)
    }
    return states
  }
}

/** What is wrong with the directory that was given, and what to do, in one line. */
function whyNot(error, root) {
  const wanted = 'give the directory whose sub-directories are the agents'
  const directory = `directory=\`${clean(root)}\``
  if (error.code === 'ENOENT') return `there is no such directory; ${wanted}, or start a session in it first, ${directory}`
  if (error.code === 'ENOTDIR') return `this is no directory; ${wanted}, ${directory}`
  if (error.code === 'EACCES') return `the directory may not be read; run this as the agents' user, ${directory}`
  return `the directory cannot be read; ${wanted}, error=\`${error.code}\` ${directory}`
}

/** What a line says. A heartbeat changes nothing of it. */
function gistOf(state) {
  if (state === null) return 'never observed'
  const { harness, observedAtMs, validUntilMs, evidenceIncarnation, ...said } = state
  return Object.values(said).join('\0')
}

/** How long to sleep: until the next look, or until time alone changes an answer, whichever is sooner. */
function lengthOfSleep(states) {
  const now = BigInt(Date.now())
  let length = BigInt(INTERVAL_MS)
  for (const state of states.values()) {
    const left = state?.validUntilMs == null ? length : state.validUntilMs - now
    if (left < length) length = left
  }
  return Number(length < 1n ? 1n : length)
}

async function list(fleet, show) {
  const states = await fleet.look()
  for (const [name, state] of states) show.row(name, state)
  show.end(states.size)
}

/** Shows every agent, and then each change as it comes. */
async function follow(fleet, show, signal) {
  let gists = new Map()
  while (!signal.aborted) {
    const states = await fleet.look(signal)
    const seen = new Map()
    for (const [name, state] of states) {
      const gist = gistOf(state)
      seen.set(name, gist)
      if (gists.get(name) !== gist) show.change(name, state)
    }
    for (const name of gists.keys()) if (!seen.has(name)) show.gone(name)
    gists = seen
    await pause(lengthOfSleep(states), undefined, { signal })
  }
}

/** For people: columns, colours on a terminal, ages instead of stamps. */
class Text {
  #colour
  #width
  #headed = false

  constructor(output) {
    this.#colour = output.isTTY === true && process.env.NO_COLOR === undefined
    this.#width = output.isTTY === true ? output.columns : Infinity
  }

  row(name, state) {
    if (!this.#headed) {
      this.#headed = true
      this.#print(this.#columns('AGENT', 'STATE', 'BLOCKED ON', 'ASK', 'FOR', 'REASON'))
    }
    this.#print(this.#line(name, state))
  }

  change(name, state) {
    this.#print(`${timeOfDay()}  ${this.#line(name, state)}`)
  }

  gone(name) {
    this.#print(`${timeOfDay()}  ${clean(name)} is gone`)
  }

  end(count) { if (count === 0) this.#print('no agents') }

  #line(name, state) {
    if (state === null) return this.#columns(name, '-', '-', '-', '-', 'never observed')
    const reason = [state.reason, state.exit].filter((text) => text !== null && text !== '').join(', ')
    const columns = [state.state, state.blockedOn, state.ask].map((word) => (word === 'none' ? '-' : word))
    return this.#columns(name, ...columns, age(state.sinceMs), reason)
  }

  #columns(name, state, blockedOn, ask, since, reason) {
    const padded = [clean(name).padEnd(20), state.padEnd(8), blockedOn.padEnd(10), ask.padEnd(11), since.padStart(7)]
    return `${padded.join('  ')}  ${clean(reason)}`.trimEnd()
  }

  #print(line) {
    const cut = line.length > this.#width ? `${line.slice(0, this.#width - 1)}…` : line
    console.log(this.#colour ? coloured(cut) : cut)
  }
}

/** Names and reasons are other people's text: nothing in them may speak to the terminal. */
function clean(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '·')
}

function coloured(line) {
  const paint = { human: 35, active: 32, idle: 36, ready: 36, unknown: 33, ended: 90 }
  const word = Object.keys(paint).find((word) => new RegExp(` ${word}( |$)`).test(line))
  return word === undefined ? line : `\x1b[${paint[word]}m${line}\x1b[0m`
}

function timeOfDay() {
  const now = new Date()
  return `${now.toTimeString().slice(0, 8)}.${String(now.getMilliseconds()).padStart(3, '0')}`
}

function age(sinceMs) {
  if (sinceMs === null) return '-'
  const seconds = Math.max(0, Math.round((Date.now() - Number(sinceMs)) / 1000))
  if (seconds < 100) return `${seconds}s`
  if (seconds < 100 * 60) return `${Math.floor(seconds / 60)}m`
  return seconds < 48 * 3600 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86400)}d`
}

/** For programs: one JSON object a line. 64-bit numbers are written with all their digits. */
class Json {
  row(name, state) { this.#print({ agent: name, observed: state !== null, ...state }) }
  change(name, state) { this.#print({ atMs: BigInt(Date.now()), agent: name, observed: state !== null, ...state }) }
  gone(name) { this.#print({ atMs: BigInt(Date.now()), agent: name, gone: true }) }
  end() {}

  #print(line) {
    const member = ([key, value]) => `${JSON.stringify(key)}:${typeof value === 'bigint' ? value : JSON.stringify(value)}`
    console.log(`{${Object.entries(line).map(member).join(',')}}`)
  }
}

function argumentsOf(given) {
  try {
    const options = { follow: { type: 'boolean' }, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } }
    const { values, positionals } = parseArgs({ args: given, options, allowPositionals: true })
    return positionals.length === 1 || values.help ? { ...values, root: positionals[0] } : null
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
  if (wanted.help) {
    console.log(USAGE)
    return 0
  }
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => stop.abort())
  // Whoever read our lines has left.
  process.stdout.on('error', () => stop.abort())
  const fleet = new Fleet(wanted.root)
  const show = wanted.json ? new Json() : new Text(process.stdout)
  try {
    await (wanted.follow ? follow(fleet, show, stop.signal) : list(fleet, show))
    return 0
  } catch (error) {
    if (stop.signal.aborted) return 0
    console.error(`coordinator: ${error.message}`)
    return 1
  }
}

process.exitCode = await main()
