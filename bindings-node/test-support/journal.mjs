/** What the tests of the journal share: runs that are written, and what of them is read. */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Journal, Projection, replay } from '../lib/journal.js'
import { Redactor } from '../lib/redaction.js'
import { directoryFor } from './seat.mjs'

export const OWNER = { taskId: 'task-1', runId: 'run-1', provider: 'provider', jobId: 'job-1', turnId: 'turn-1' }
export const REDACTOR = new Redactor(['hunter2!'])

/** One event of a provider. */
export function event(id, data, more) {
  return { id, provenance: 'provider', timestamp: 1000, type: 'message', data, ...more }
}

/** A run in a directory, with its writers. */
export function runFor(t, directory = directoryFor(t)) {
  const journal = Journal.openSync(directory, OWNER, REDACTOR)
  const projection = Projection.openSync(directory)
  t.after(() => {
    journal.closeSync()
    projection.closeSync()
  })
  let said = 0
  return {
    directory, journal, projection,
    /** Appends so many lines, `text` with their numbers, and projects them. */
    say(count, text = 'text') {
      const page = Array.from({ length: count }, () => {
        said += 1
        return event(`e${said}`, `${text} ${said}`)
      })
      for (let at = 0; at < page.length; at += 100) journal.appendSync(page.slice(at, at + 100))
      return projection.catchUpSync()
    },
    sayTexts(...texts) {
      journal.appendSync(texts.map((text) => {
        said += 1
        return event(`e${said}`, text)
      }))
      return projection.catchUpSync()
    },
  }
}

/** So many numbers from one on, as ids. */
export function ids(from, to) { return Array.from({ length: to - from + 1 }, (_, at) => String(from + at)) }

/** Frames of a replay until the row with this id. */
export async function framesUntil(directory, last, options) {
  const frames = []
  for await (const frame of replay(directory, options)) {
    frames.push(frame)
    if (frame.id === last) break
  }
  return frames
}

/** The threads of this process that wait for replays. */
export function lookouts() {
  const names = readdirSync('/proc/self/task').map((task) => {
    try {
      return readFileSync(`/proc/self/task/${task}/comm`, 'utf8')
    } catch {
      return ''
    }
  })
  return names.filter((name) => name.startsWith('gallivant-repla')).length
}

/** What descriptors of this process lead to, counted. */
export function descriptors() {
  const kinds = {}
  for (const name of readdirSync('/proc/self/fd')) {
    let target
    try {
      target = readlinkSync(join('/proc/self/fd', name))
    } catch {
      continue
    }
    const kind = target.startsWith('/') ? 'file' : target.replace(/:?\[?\d+\]?$/, '')
    kinds[kind] = (kinds[kind] ?? 0) + 1
  }
  return kinds
}

/** Waits until this is so. */
export async function until(isSo, what = 'it', ms = 60_000) {
  const limit = performance.now() + ms
  while (!await isSo()) {
    if (performance.now() > limit) throw new Error(`${what} has not come about`)
    await pause(5)
  }
}
