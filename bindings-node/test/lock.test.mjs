/** A lock ends with its holder and not with the programs that it started (C-020). */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { Writer, claimSync } from '../lib/index.js'
import { directoryFor } from '../test-support/seat.mjs'

test('c_020_a_started_program_inherits_no_lock', async (t) => {
  const directory = directoryFor(t)
  const claimant = { agent: 'host.worker', harness: 'claude', token: 'tok-a' }
  const { sequence } = claimSync(directory, claimant)
  const guard = new Writer(directory, { ...claimant, sequence }).lockCurrentOwnershipSync()
  const child = spawn('sleep', ['30'], { stdio: 'ignore' })
  t.after(() => child.kill())
  await once(child, 'spawn')
  const other = { ...claimant, token: 'tok-b' }
  assert.throws(() => claimSync(directory, other, { lockWaitMs: 50 }), { code: 'HARNESS_STATE_BUSY' })
  guard.release()
  assert.equal(claimSync(directory, other, { lockWaitMs: 50 }).sequence, 2n)
  assert.equal(child.exitCode, null, 'the program still runs')
})
