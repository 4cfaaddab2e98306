/** The machine that a test controls. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Reader, claimSync, mintToken } from '../lib/index.js'
import { TestHost } from '../lib/testing.js'
import { PACKAGE, claimedSeat, directoryFor, runNode } from '../test-support/seat.mjs'

const claimant = { agent: 'host.worker', harness: 'claude', token: 'tok-a' }

test('the_wall_clock_stands_where_it_is_put', async (t) => {
  const directory = directoryFor(t)
  const machine = new TestHost({ wallMs: 2n ** 53n + 1n })
  claimSync(directory, claimant, { host: machine.host })
  const stamp = () => new Reader(directory, { host: machine.host }).readSync().observedAtMs
  assert.equal(stamp(), 2n ** 53n + 1n)
  machine.advanceMs(-1000)
  claimSync(directory, claimant, { host: machine.host })
  assert.equal(stamp(), 2n ** 53n + 2n, 'stamps never fall')
  machine.setWallMs(2n ** 63n)
  claimSync(directory, claimant, { host: machine.host })
  assert.equal(stamp(), 2n ** 63n)
  assert.throws(() => machine.setWallMs(-1n), { code: 'GALLIVANT_INPUT' })
  assert.throws(() => machine.advanceMs(0.5), { code: 'GALLIVANT_INPUT' })
})

test('chance_is_as_given', () => {
  const machine = new TestHost({ random: [0xdead_beefn, 2n ** 64n - 1n] })
  const tokens = [1, 2].map(() => mintToken({ host: machine.host }))
  assert.match(tokens[0], /-00000000deadbeef$/)
  assert.match(tokens[1], /-ffffffffffffffff$/)
})

test('faults_fail_the_operation_that_they_name', async (t) => {
  const machine = new TestHost()
  const { directory, writer } = claimedSeat(t, { host: machine.host })
  assert.ok(machine.operations.some((line) => /rename .* harness-state/.test(line)), machine.operations.join('\n'))
  const before = readFileSync(join(directory, 'harness-state'))
  machine.setFaults([{ on: 'mutating', repeat: true, do: 'error', errno: 'ENOSPC' }])
  await assert.rejects(writer.observe({ state: 'active' }), { code: 'HARNESS_STATE_IO', osError: 28 })
  assert.deepEqual(readFileSync(join(directory, 'harness-state')), before)
  machine.setFaults('[]')
  assert.equal((await writer.observe({ state: 'active' })).outcome, 'landed')
  assert.throws(() => machine.setFaults([{ do: 'explode' }]), { code: 'GALLIVANT_INPUT' })
  assert.throws(() => new TestHost({ faults: 'no json' }), { code: 'GALLIVANT_INPUT' })
  assert.throws(() => new TestHost({ fault: [] }), { code: 'GALLIVANT_INPUT', reason: 'unknown-member' })
})

test('hsi_5_a_crash_at_any_operation_leaves_a_record_that_some_write_wrote', async (t) => {
  const script = `
    const { Writer } = require('./lib/index.js')
    const { TestHost } = require('./lib/testing.js')
    const [directory, at] = process.argv.slice(1)
    const machine = new TestHost({ faults: at === '0' ? [] : [{ at: Number(at), do: 'crash' }] })
    const identity = { agent: 'a', harness: 'c', token: 'tok-a', sequence: 1, ptySession: 'p' }
    new Writer(directory, identity, { host: machine.host }).endedSync('exit 0')
    console.log(machine.operations.length)
  `
  const run = (directory, at) => runNode(['-e', script, directory, String(at)], { cwd: PACKAGE })
  const seat = () => {
    const directory = directoryFor(t)
    claimSync(directory, claimant)
    return directory
  }
  const operations = Number((await run(seat(), 0)).stdout)
  assert.ok(operations > 5)
  const found = new Set()
  for (let at = 1; at <= operations; at += 1) {
    const directory = seat()
    assert.equal((await run(directory, at)).signal, 'SIGKILL', `operation ${at}`)
    const state = await new Reader(directory).read()
    found.add(`${state.state} ${state.reason ?? state.exit}`)
  }
  assert.deepEqual([...found], ['unknown claimed', 'ended exit 0'])
})
