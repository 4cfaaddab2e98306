/** Claims and writes without an end, until it is killed: `killed_writer.mjs DIRECTORY`. */

import { Writer, claimSync } from '../../bindings-node/lib/index.js'

const directory = process.argv[2]
process.stdout.write('ready\n')
for (let life = 0; ; life += 1) {
  const identity = { agent: 'a', harness: 'node', token: `node-${process.pid}-${life}` }
  const { sequence } = claimSync(directory, identity)
  const writer = new Writer(directory, { ...identity, ptySession: 'p', sequence })
  for (let turn = 0; turn < 40; turn += 1) {
    writer.observeSync({ state: turn % 2 === 0 ? 'active' : 'idle', reason: 'r'.repeat((turn * 37) % 900) })
    // Every other one waits on a worker thread, where a kill finds it as well.
    if (turn % 2 === 0) writer.heartbeatSync()
    else await writer.heartbeat()
  }
  writer.endedSync('exit 0')
}
