/**
 * The conformance adapter of the Node package, over its public API. The protocol is in
 * tests/vectors/harness-state/README.md: one JSON request a line in, one JSON answer a line out.
 */

import { createInterface } from 'node:readline'
import { GallivantError, Reader, Writer, claim, claimWrapperless, mintToken } from '../../../bindings-node/lib/index.js'
import { TestHost } from '../../../bindings-node/lib/testing.js'
import { parse, stringify } from './exact_json.mjs'

/** What `begin` sets. */
const run = { directory: '.', machine: null, options: { extension: false }, writers: new Map() }

const operations = {
  begin({ dir, now_ms: nowMs }) {
    run.directory = dir
    run.writers = new Map()
    run.machine = new TestHost({ wallMs: nowMs })
    run.options = { host: run.machine.host, extension: false }
    return {}
  },

  clock({ now_ms: nowMs }) {
    run.machine.setWallMs(nowMs)
    return {}
  },

  open({ writer, agent, harness, pty, token, seq }) {
    const identity = {
      agent, harness, ptySession: pty, token: token ?? mintToken(run.options), sequence: seq,
    }
    try {
      run.writers.set(writer, new Writer(run.directory, identity, run.options))
    } catch (error) {
      // A refused construction is answered to each later call of this writer.
      run.writers.set(writer, error)
      throw error
    }
    return {}
  },

  async claim(request) {
    return { seq: (await claim(run.directory, claimantOf(request), run.options)).sequence }
  },

  async claim_wrapperless(request) {
    const made = await claimWrapperless(run.directory, claimantOf(request), run.options)
    return { seq: made === null ? null : made.sequence }
  },

  async observe({ writer, args }) {
    return { outcome: outcomeOf(await writerOf(writer).observe(observationOf(args))) }
  },

  async observe_unless_ended({ writer, args }) {
    const report = await writerOf(writer).observeUnlessEnded(observationOf(args))
    return { outcome: outcomeOf(report), accepted: report.outcome !== 'refused' }
  },

  async ended({ writer, args }) {
    return { outcome: outcomeOf(await writerOf(writer).ended(args?.exit)) }
  },

  async heartbeat({ writer }) {
    return { outcome: (await writerOf(writer).heartbeat()).outcome }
  },

  interrupt({ writer }) {
    writerOf(writer).interrupt()
    return {}
  },

  mint() {
    return { token: mintToken(run.options) }
  },

  async read({ probe }) {
    const state = await new Reader(run.directory, run.options).read({ probe: probe ?? null })
    if (state === null) return { read: null }
    const { validUntilMs, ...read } = state
    return { read }
  },
}

function claimantOf({ agent, harness, token }) {
  return { agent, harness, token }
}

function writerOf(id) {
  const writer = run.writers.get(id)
  if (!(writer instanceof Writer)) throw writer
  return writer
}

const WORDS = {
  state: ['ready', 'idle', 'active', 'child', 'ended'],
  blockedOn: ['none', 'human'],
  inputBuffer: ['empty', 'nonempty'],
  ask: ['none', 'permission', 'question', 'review'],
}

/** The package refuses a word that does not exist; to the protocol such a word is `unknown`. */
function observationOf({ reason, exit, ...words } = {}) {
  const known = ([key, list]) => [key, words[key] === undefined || list.includes(words[key]) ? words[key] : 'unknown']
  return { ...Object.fromEntries(Object.entries(WORDS).map(known)), reason, exit }
}

function outcomeOf({ outcome, refusal }) {
  return refusal === null ? outcome : `${outcome}:${refusal}`
}

/** The protocol's word for an error. */
function wordOf(error) {
  if (!(error instanceof GallivantError)) throw error
  return error.code.replace(/^(HARNESS_STATE|GALLIVANT)_/, '').toLowerCase().replaceAll('_', '-')
}

async function answer(line) {
  const request = parse(line)
  try {
    return { ok: true, ...(await operations[request.op](request)) }
  } catch (error) {
    return { ok: false, error: wordOf(error), message: error.message }
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() !== '') process.stdout.write(`${stringify(await answer(line))}\n`)
}
