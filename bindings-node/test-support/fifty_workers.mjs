/**
 * Fifty workers load the native module, write a record and exit; this thread never loads it (C-064).
 * `fifty_workers.mjs DIRECTORY`. Prints how many have exited with 0, and how a child process ended.
 */

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

const directory = process.argv[2]
const worker = new URL('one_worker.mjs', import.meta.url)
let exited = 0
for (let begun = 0; begun < 50; begun += 10) {
  const workers = Array.from({ length: 10 }, (_, index) => new Worker(worker, {
    workerData: { directory, number: begun + index },
  }))
  for (const [code] of await Promise.all(workers.map((one) => once(one, 'exit')))) if (code === 0) exited += 1
}
// A fork runs the handlers that the module has registered: its code must be there, although its last user has ended.
const forked = spawnSync('true').status
console.log(JSON.stringify({ exited, forked }))
