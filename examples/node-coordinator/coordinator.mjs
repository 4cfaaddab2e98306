#!/usr/bin/env node
/**
 * Shows what a fleet of coding agents is doing: each directory with a record, at any depth, is one agent.
 *
 *     node coordinator.mjs DIRECTORY              what every agent does now
 *     node coordinator.mjs --follow DIRECTORY     and then a line for each change, until SIGINT or SIGTERM
 *     node coordinator.mjs --json DIRECTORY       the same as JSON lines, for other programs
 *
 * It only reads: no lock is taken, nothing is created, and no agent waits for it. A state that cannot be known is shown
 * as `unknown` with the reason; it is never guessed.
 */

import { stat } from 'node:fs/promises'
import { parseArgs } from 'node:util'

// In a program of your own: import { readFleet, watchFleet } from 'gallivant'
import { readFleet, watchFleet } from '../../bindings-node/lib/index.js'

const USAGE = 'usage: coordinator.mjs [--follow] [--json] DIRECTORY'

/** Ends with one line where the directory is none; a fleet would say that nobody is in it. */
async function check(root) {
  const found = await stat(root).catch((error) => error)
  if (found.code === undefined && found.isDirectory()) return
  const wanted = 'give the directory below which the agents are'
  const why = {
    ENOENT: `there is no such directory; ${wanted}, or start a session in it first`,
    EACCES: "the directory may not be read; run this as the agents' user",
  }[found.code] ?? `this is no directory; ${wanted}`
  throw new Error(`${why}, directory=\`${clean(root)}\``)
}

/** What a line says. A heartbeat changes nothing of it. */
function gistOf(state) {
  const { harness, observedAtMs, validUntilMs, evidenceIncarnation, ...said } = state
  return Object.values(said).join('\0')
}

async function list(root, show) {
  const { entries, leftOut } = await readFleet(root, { probe: 'lease' })
  for (const { path, state } of entries) show.row(path, state)
  show.end(entries.length, leftOut)
}

/** Shows every agent, and then each change as it comes. */
async function follow(root, show, signal) {
  const gists = new Map()
  // The lease is held for a session's life and released by its death, so a dead one is told at once.
  for await (const { seats, leftOut } of watchFleet(root, { probe: 'lease', signal })) {
    for (const { path, state } of seats) {
      if (state === null) {
        gists.delete(path)
        show.gone(path)
      } else if (gists.get(path) !== gistOf(state)) {
        gists.set(path, gistOf(state))
        show.change(path, state)
      }
    }
    show.end(gists.size, leftOut)
  }
}

/** For people: columns, colours on a terminal, ages instead of stamps. */
class Text {
  #colour
  #width
  #headed = false
  #leftOut = null

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

  end(count, { example }) {
    if (count === 0) this.#print('no agents')
    if (example !== null && example !== this.#leftOut) console.error(`coordinator: not looked at: ${clean(example)}`)
    this.#leftOut = example
  }

  #line(name, state) {
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
  row(name, state) { this.#print({ agent: name, ...state }) }
  change(name, state) { this.#print({ atMs: BigInt(Date.now()), agent: name, ...state }) }
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
  const show = wanted.json ? new Json() : new Text(process.stdout)
  try {
    await check(wanted.root)
    await (wanted.follow ? follow(wanted.root, show, stop.signal) : list(wanted.root, show))
    return 0
  } catch (error) {
    if (stop.signal.aborted) return 0
    console.error(`coordinator: ${error.message}`)
    return 1
  }
}

process.exitCode = await main()
