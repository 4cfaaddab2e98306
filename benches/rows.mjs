/**
 * The rows of harness state from Node: node rows.mjs ROW DIRECTORY.
 *
 * Says `ready`, then makes as many operations as each line of standard input says and answers how many nanoseconds they
 * took. Exits with 3 where the package has no such thing. The directory is one that `harness-state prepare` has made.
 */

import { createInterface } from 'node:readline'
import gallivant from '../bindings-node/lib/index.js'

const MISSING = 3
const IDENTITY = { agent: 'host.worker', harness: 'claude', token: 'bench' }
const FLEET = 10_000
/** How long a file rests before a look at it is believed, in ms, and then some. */
const REST = 50

function writer(directory) {
  return new gallivant.Writer(directory, { ...IDENTITY, ptySession: 'worker', sequence: 1n })
}

function must(holds, what) {
  if (!holds) throw new Error(`not as expected: ${what}`)
}

const rows = {
  async restated(directory) {
    const voice = writer(directory)
    const run = () => must(voice.observeSync({ state: 'active' }).outcome === 'coalesced', 'the outcome')
    run()
    await new Promise((resolve) => setTimeout(resolve, REST))
    run()
    return run
  },
  transition(directory) {
    const voice = writer(directory)
    // Whatever a run before this one left there.
    voice.interrupt()
    let state = 'active'
    return () => {
      state = state === 'active' ? 'idle' : 'active'
      must(voice.observeSync({ state }).outcome === 'landed', 'the outcome')
    }
  },
  heartbeat(directory) {
    const voice = writer(directory)
    return () => must(voice.heartbeatSync().outcome === 'landed', 'the outcome')
  },
  read(directory) {
    const reader = new gallivant.Reader(directory)
    return () => must(reader.readSync().state === 'active', 'the state')
  },
  fleet(directory) {
    return () => wholeFleet(gallivant.readFleetSync(directory))
  },
  'fleet-shared'(directory) {
    return () => wholeFleet(gallivant.readFleetSync(directory, { threads: 2 }))
  },
  'fleet-unchanged'(directory) {
    const fleet = new gallivant.Fleet(directory)
    return () => wholeFleet(fleet.readSync())
  },
  claim(directory) {
    return () => must(gallivant.claimSync(directory, IDENTITY).floorFailure === null, 'the floor')
  },
}

function wholeFleet(view) {
  let active = 0
  for (const entry of view.entries) if (entry.state.state === 'active') active += 1
  must(active === FLEET, 'the fleet')
}

const [row, directory] = process.argv.slice(2)
if (!Object.hasOwn(rows, row) || (row.startsWith('fleet') && gallivant.Fleet === undefined)) {
  console.error('no such row')
  process.exit(MISSING)
}
const run = await rows[row](directory)
console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  const count = Number(line)
  const started = process.hrtime.bigint()
  for (let index = 0; index < count; index += 1) run()
  console.log(String(process.hrtime.bigint() - started))
}
