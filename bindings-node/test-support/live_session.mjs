/** Starts a session, keeps it, and says `ready`: `live_session.mjs DIRECTORY`. */

import { Session } from '../lib/index.js'

const session = Session.startSync(process.argv[2], { agent: 'host.worker', harness: 'claude', ptySession: 'worker' })
if (!session.holdsLease) throw new Error('the session has no lease')
session.writer.observeSync({ state: 'active' })
process.stdout.write('ready\n')
setInterval(() => session.heartbeatIfDueSync(), 1000)
