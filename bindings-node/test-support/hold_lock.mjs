/** Holds the lock of a seat until standard input ends: `hold_lock.mjs DIRECTORY TOKEN SEQUENCE`. */

import { Writer } from '../lib/index.js'

const [directory, token, sequence] = process.argv.slice(2)
const identity = { agent: 'host.worker', harness: 'claude', token, sequence: BigInt(sequence) }
const guard = new Writer(directory, identity).lockCurrentOwnershipSync()
if (guard === null) throw new Error('the session does not own the seat')
process.stdout.write('ready\n')
process.stdin.resume().once('end', () => {
  guard.release()
  process.exit(0)
})
