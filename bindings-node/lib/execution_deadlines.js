'use strict'
/**
 * When the methods that run are late. One timer serves all of them: hardly any of them is ever late, and a timer for each call would
 * cost as much as all the rest of what a call takes on the event loop.
 */

const { timerMs } = require('./timers.js')

/** What is waited for: `due`, by `performance.now()`, and what is done then. */
const waiting = new Set()
let timer = null
let ringsAt = Infinity

/** Has `entry.late` called at `entry.due`, unless it is forgotten before. It keeps the event loop alive until either. */
function watch(entry) {
  waiting.add(entry)
  if (timer === null || entry.due < ringsAt) arm(entry.due)
  else if (waiting.size === 1) timer.ref()
}

/** The timer stays for those that follow, and keeps nothing alive. */
function forget(entry) {
  if (waiting.delete(entry) && waiting.size === 0) timer?.unref()
}

function arm(due) {
  clearTimeout(timer)
  ringsAt = due
  timer = setTimeout(ring, timerMs(due - performance.now()))
}

function ring() {
  timer = null
  const now = performance.now()
  let next = Infinity
  for (const entry of waiting) {
    if (entry.due > now) next = Math.min(next, entry.due)
    else if (waiting.delete(entry)) entry.late()
  }
  if (next < Infinity) arm(next)
}

module.exports = { forget, watch }
