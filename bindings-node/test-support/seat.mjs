/** What the tests share: temporary directories, writers, and other processes. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Writer, claimSync } from '../lib/index.js'

export const HERE = fileURLToPath(new URL('.', import.meta.url))
export const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
export const PROJECT = fileURLToPath(new URL('../..', import.meta.url))

/** A directory that goes when the test ends. */
export function directoryFor(t) {
  const path = mkdtempSync(join(tmpdir(), 'gallivant-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A claimed seat, and an adopted writer with a pty session on it. */
export function claimedSeat(t, options) {
  const directory = directoryFor(t)
  return { directory, ...claimedOn(directory, options) }
}

export function claimedOn(directory, options, token = 'tok-a') {
  const claim = claimSync(directory, { agent: 'host.worker', harness: 'claude', token }, options)
  const identity = { agent: 'host.worker', harness: 'claude', ptySession: 'worker', token, sequence: claim.sequence }
  return { claim, identity, writer: new Writer(directory, identity, options) }
}

/** Starts a script of this folder and waits until it has said `ready`. It ends with the test. */
export async function startScript(t, name, args, options = {}) {
  const child = spawn(process.execPath, [join(HERE, name), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'], ...options,
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const { value } = await lines.next()
  if (value !== 'ready') throw new Error(`the script ${name} said ${value}`)
  return { child, lines, exit: once(child, 'exit') }
}

/** Another process that holds the seat's lock until `release` is called. */
export async function holdLock(t, directory, identity) {
  const { child, exit } = await startScript(t, 'hold_lock.mjs', [directory, identity.token, String(identity.sequence)])
  return {
    async release() {
      child.stdin.end()
      await exit
    },
  }
}

/** Runs a Node process to its end. */
export async function runNode(args, options = {}) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (part) => { texts[name] += part })
  const [code, signal] = await once(child, 'close')
  return { code, signal, ...texts }
}
