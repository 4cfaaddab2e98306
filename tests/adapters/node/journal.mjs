/**
 * The conformance adapter of journals of the Node package: one JSON request a line on standard input, one JSON answer a line
 * on standard output, as `tests/adapters/journal.md` says.
 */

import { createInterface } from 'node:readline'
import { GallivantError } from '../../../bindings-node/lib/index.js'
import {
  Journal, LogReader, Projection, check, readRunResultJson, replay, retentionCandidates, serverSentEvent,
} from '../../../bindings-node/lib/journal.js'
import { Redactor } from '../../../bindings-node/lib/redaction.js'
import { TestHost } from '../../../bindings-node/lib/testing.js'
import { stringify } from './exact_json.mjs'

/** One run, and what is open of it. */
const run = { directory: '.', options: {}, journal: null, projection: null, frames: null }

const operations = {
  async open({ dir, owner, secrets, now_ms: nowMs }) {
    const { host } = new TestHost({ wallMs: nowMs })
    Object.assign(run, { directory: dir, options: { host }, projection: null, frames: null })
    run.journal = await Journal.open(dir, owner, new Redactor(secrets), run.options)
    return {}
  },

  async append({ page }) {
    const { placed, end } = await run.journal.append(page)
    return { placed: placed.map(({ sequence, how }) => [sequence, how]), end: positionOf(end) }
  },

  async recover() {
    const { kept, gap, end } = await run.journal.recover()
    return { kept, gap, end: positionOf(end) }
  },

  async project() { return projectedOf(await (await projection()).catchUp()) },
  async trim({ keep_bytes: keepBytes }) { return projectedOf(await (await projection()).trim(keepBytes)) },
  async tail() { return windowOf(await (await reader()).tail()) },
  async history({ before }) { return windowOf(await (await reader()).history(before)) },
  async lines({ after, limit }) { return windowOf(await (await reader()).lines({ after, limit })) },

  async replay({ after }) {
    await run.frames?.close()
    run.frames = replay(run.directory, { lastEventId: after, ...run.options })
    return {}
  },

  async frames({ count, timeout_ms: timeoutMs }) {
    const frames = []
    while (frames.length < count) {
      const frame = await run.frames.nextFrame({ timeoutMs })
      if (frame === null) break
      if (frame.event !== 'heartbeat') frames.push([frame.id, frame.event, frame.data, serverSentEvent(frame)])
    }
    return { frames, resume: run.frames.resumePoint }
  },

  async check() {
    const { end, records, gaps, pending } = await check(run.directory, run.options)
    return {
      end: positionOf(end),
      records,
      gaps: gaps.map(({ from, to, reason, bytes }) => [from, to, reason, bytes.from, bytes.to]),
      pending: pending === null ? null : [pending.records, pending.kept],
    }
  },

  async result() { return { result: await readRunResultJson(run.directory, run.options) } },
  async candidates({ root }) { return { candidates: await retentionCandidates(root, run.options) } },
}

async function projection() {
  run.projection ??= await Projection.open(run.directory, run.options)
  return run.projection
}

function reader() { return LogReader.open(run.directory, run.options) }
function positionOf({ offset, sequence }) { return [offset, sequence] }
function projectedOf({ first, next, bytes }) { return { projected: [first, next, bytes] } }

function windowOf({ rows, before, after }) {
  return { rows: rows.map(({ id, kind, text = null, reason = null }) => ({ id, kind, text, reason })), before, after }
}

async function answer(request) {
  try {
    return { ok: true, ...await operations[request.op](request) }
  } catch (error) {
    if (!(error instanceof GallivantError)) throw error
    return { ok: false, error: error.code, reason: error.reason }
  }
}

for await (const line of createInterface({ input: process.stdin })) console.log(stringify(await answer(JSON.parse(line))))
await run.frames?.close()
