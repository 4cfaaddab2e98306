/** One worker: writes one record by an asynchronous and one by a synchronous call, holds a session, and ends. */

import { join } from 'node:path'
import { workerData } from 'node:worker_threads'
import { Session } from '../lib/index.js'

const { directory, number } = workerData
const start = { agent: `worker-${number}`, harness: 'claude', ptySession: 'worker' }
const session = await Session.start(join(directory, `agent-${number}`), start)
const landed = await session.writer.observe({ state: 'active' })
const again = session.writer.observeSync({ state: 'idle' })
if (landed.outcome !== 'landed' || again.outcome !== 'landed') throw new Error('a record did not land')
