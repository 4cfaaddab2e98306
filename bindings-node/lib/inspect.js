'use strict'
/**
 * What `console.log` shows of an object: what helps a person, and never the session's token, because logs are read by
 * more people than records are.
 *
 * Showing an object never throws and touches no disk.
 */

const INSPECT = Symbol.for('nodejs.util.inspect.custom')

/** `seen` answers the members to show. */
function inspected(name, seen, depth, options, inspect) {
  if (depth !== null && depth < 0) return options.stylize(`[${name}]`, 'special')
  return `${name} ${inspect(membersOf(seen), { ...options, depth })}`
}

/** What only looks like an object of ours, a proxy or an heir, has no members to show. */
function membersOf(seen) {
  try {
    return seen()
  } catch {
    return {}
  }
}

/** Gives a prototype Node's method for showing. `seen` answers an object's members. */
function inspectable(prototype, name, seen) {
  Object.defineProperty(prototype, INSPECT, {
    value(depth, options, inspect) { return inspected(name, () => seen(this), depth, options, inspect) },
    configurable: true,
    writable: true,
  })
}

module.exports = { inspectable, inspected }
