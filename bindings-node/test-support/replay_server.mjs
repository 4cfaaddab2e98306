/** The example's server of runs, as a process of its own. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { PROJECT } from './seat.mjs'

/** Starts it over the runs below a directory. It ends with the test. */
export async function serverOver(t, runs, port = '0') {
  const server = join(PROJECT, 'examples', 'node-replay', 'server.mjs')
  const child = spawn(process.execPath, [server, runs, port], { stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (part) => { stderr += part })
  const [line] = await once(child.stdout.setEncoding('utf8'), 'data')
  const [, own] = /^http:\/\/127\.0\.0\.1:(\d+)\/\?run=NAME\n$/.exec(line)
  return { child, port: Number(own), said: () => stderr, over: once(child, 'exit') }
}
