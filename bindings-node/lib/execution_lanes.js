'use strict'
/** Lanes: many tasks, at most so many at a time (EX-SCH-25 to EX-SCH-31). Which may start now is the core's to say. */

const args = require('./arguments.js')
const { perform } = require('./calls.js')
const { BEGUN, HealthStore, OVER, scopeOf } = require('./execution_health.js')
const { EXECUTION_LIMITS } = require('./execution_functions.js')
const { NATIVE, callSync, native } = require('./native.js')
const { timerMs } = require('./timers.js')

const CONCURRENCY = EXECUTION_LIMITS.find(({ name }) => name === 'concurrency').default

/** What a task comes to, also where it throws at once. */
async function settled(task) {
  try {
    return { status: 'fulfilled', value: await task() }
  } catch (reason) {
    return { status: 'rejected', reason }
  }
}

/** Runs tasks side by side, and gives what each came to, in their order. */
async function runLane(tasks, concurrency = CONCURRENCY) {
  const list = args.list('tasks', tasks)
  if (!list.every((task) => typeof task === 'function')) throw args.wrong('tasks', 'not a list of functions')
  const lane = callSync(() => native.NativeLane.open(list.length, args.unsigned('concurrency', concurrency)))
  const results = new Array(list.length)
  const running = new Set()
  for (;;) {
    for (let at = lane.startNext(); at !== null; at = lane.startNext()) {
      const task = at
      const ending = settled(list[task]).then((result) => {
        results[task] = result
        running.delete(ending)
        callSync(() => lane.end(task))
      })
      running.add(ending)
    }
    if (running.size === 0) return results
    await Promise.race(running)
  }
}

async function runProgressLane(executions, options) {
  const { concurrency, signal } = args.callOptions(options, ['concurrency'])
  const boundaries = args.list('executions', executions)
  const results = await runLane(boundaries.map((execution) => async () => (
    await execution.isDue() ? { report: await execution.reconcile({}, { signal }) } : null
  )), concurrency)
  return results.flatMap(({ status, value, reason }, at) => {
    const execution = boundaries[at]
    if (status === 'rejected') return [{ execution, report: null, error: reason }]
    return value === null ? [] : [{ execution, report: value.report, error: null }]
  })
}

async function runDispatchLane(store, dispatches, options) {
  const { concurrency = CONCURRENCY, timeoutMs, signal } = args.callOptions(options, ['concurrency', 'timeoutMs'])
  if (!(store instanceof HealthStore)) throw args.wrong('store', 'not a HealthStore')
  const list = args.list('dispatches', dispatches).map((dispatch) => {
    const { scope, retry } = args.object('dispatches', dispatch)
    if (typeof retry !== 'function') throw args.wrong('dispatches.retry', 'not a function')
    return { scope: scopeOf(scope), retry }
  })
  const longest = Number(args.unsigned('timeoutMs', timeoutMs))
  const scopes = list.map(({ scope }) => scope)
  const lane = callSync(() => native.NativeDispatchLane.open(store[NATIVE], scopes, args.unsigned('concurrency', concurrency)))
  const outcomes = list.map(() => ({ status: 'refused' }))
  /** What ends a wait: a probe that is over, a retry that has ended. Each does once. */
  const events = new Set()
  let ended = 0
  const on = (promise) => {
    const event = promise.then(() => {
      events.delete(event)
      ended += 1
    })
    events.add(event)
  }
  const heard = new Set()
  const listen = () => {
    for (const promise of scopes.flatMap((scope) => [store[OVER](scope), store[BEGUN](scope)])) {
      if (promise === undefined || heard.has(promise)) continue
      heard.add(promise)
      on(promise)
    }
  }
  let stop
  const stopped = new Promise((resolve) => { stop = () => { lane.giveUp(); resolve() } })
  const timer = setTimeout(stop, timerMs(longest))
  signal?.addEventListener('abort', stop, { once: true })
  if (signal?.aborted) stop()
  let running = 0
  try {
    for (;;) {
      listen()
      // What ends while the lane looks may have come too late for that look, and is not told again.
      const before = ended
      const wait = callSync(() => store[NATIVE].beginWait())
      const dispatch = await perform({ wait, start: (wait) => lane.retryNextAsync(wait) })
      if (dispatch !== null) {
        running += 1
        on(settled(list[dispatch].retry).then((outcome) => {
          outcomes[dispatch] = outcome
          running -= 1
          callSync(() => lane.end(dispatch))
        }))
      } else if (lane.isWaiting() || running > 0) {
        if (ended === before) await Promise.race(running > 0 ? events : [...events, stopped])
      } else return outcomes
    }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', stop)
  }
}

module.exports = { runDispatchLane, runLane, runProgressLane }
