/** The provider of hosted agents of `tests/hosted-agents`, as a process of its own. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PACKAGE, PROJECT } from './seat.mjs'

/** A provider on a state file; `stop` kills it, and `start` begins it anew. */
export async function providerFor(t, file) {
  const provider = { address: null, child: null }
  provider.start = async () => {
    provider.child = spawn(process.execPath, [join(PROJECT, 'tests', 'hosted-agents', 'server.mjs'), file], { stdio: ['pipe', 'pipe', 'inherit'], cwd: PACKAGE })
    const { value } = await createInterface({ input: provider.child.stdout })[Symbol.asyncIterator]().next()
    provider.address = /^ready (\S+)$/.exec(value)[1]
  }
  provider.stop = async () => {
    provider.child.kill('SIGKILL')
    await once(provider.child, 'exit')
  }
  provider.control = async (path, body) => {
    const sent = body && { method: 'POST', body: JSON.stringify(body) }
    const response = await fetch(new URL(`/control${path}`, provider.address), { ...sent, headers: { connection: 'close' } })
    assert.equal(response.status, 200)
    return response.json()
  }
  t.after(() => provider.child.kill('SIGKILL'))
  await provider.start()
  return provider
}
