'use strict'
/** JSON values and their texts, with bigints: integers keep their digits where a number would not. */

const args = require('./arguments.js')

/** What goes no deeper than this is a cycle, or nobody's data. */
const MOST_LEVELS = 1000

/** A copy with what `JSON.stringify` makes of each part, but for bigints; undefined for what it leaves out. */
function plain(part, key, depth) {
  if (depth > MOST_LEVELS) throw args.wrong('value', 'nested too deep')
  if (typeof part === 'object' && part !== null && typeof part.toJSON === 'function') part = part.toJSON(key)
  if (part instanceof String || part instanceof Number || part instanceof Boolean) part = part.valueOf()
  switch (typeof part) {
    case 'string': case 'bigint': case 'boolean': return part
    case 'number': return Number.isFinite(part) ? part : null
    case 'object': break
    default: return undefined
  }
  if (part === null) return null
  if (Array.isArray(part)) return Array.from(part, (element, at) => plain(element, String(at), depth + 1) ?? null)
  const copy = {}
  for (const [name, member] of Object.entries(part)) {
    const given = plain(member, name, depth + 1)
    if (given !== undefined) put(copy, name, given)
  }
  return copy
}

/** Not by assignment: `__proto__` is a key like any other. */
function put(object, key, value) {
  Object.defineProperty(object, key, { value, configurable: true, enumerable: true, writable: true })
}

/** The JSON text of a value, bigints with all their digits; undefined for what `JSON.stringify` leaves out. */
function textOf(value) {
  // As long as nobody has taught bigints to become something else, the engine refuses them, and all else is as below.
  if (BigInt.prototype.toJSON === undefined) {
    try {
      return JSON.stringify(value)
    } catch {
      // A bigint; or what is refused below too, and by its name.
    }
  }
  const given = plain(value, '', 0)
  return given === undefined ? undefined : written(given)
}

function written(part) {
  if (typeof part === 'bigint') return String(part)
  if (typeof part !== 'object' || part === null) return JSON.stringify(part)
  if (Array.isArray(part)) return `[${part.map(written).join(',')}]`
  return `{${Object.entries(part).map(([name, member]) => `${JSON.stringify(name)}:${written(member)}`).join(',')}}`
}

/** Only then may an integer be there that no number holds. */
const MANY_DIGITS = /\d{16}/
const INTEGER = /^-?\d+$/
const ENDS_NUMBER = /[,\]}]|$/g

/** The value of a JSON text without white space, as the core writes it. An integer that no number holds is a bigint. */
function valueOf(text) {
  if (!MANY_DIGITS.test(text)) return JSON.parse(text)
  let at = 0
  const string = () => {
    const from = at
    for (at += 1; text[at] !== '"'; at += 1) if (text[at] === '\\') at += 1
    at += 1
    return JSON.parse(text.slice(from, at))
  }
  const scalar = () => {
    ENDS_NUMBER.lastIndex = at
    const token = text.slice(at, ENDS_NUMBER.exec(text).index)
    at += token.length
    return INTEGER.test(token) && !Number.isSafeInteger(Number(token)) ? BigInt(token) : JSON.parse(token)
  }
  /** What stands between two brackets, part by part. */
  const parts = (part) => {
    at += 1
    while (text[at] !== ']' && text[at] !== '}') {
      part()
      if (text[at] === ',') at += 1
    }
    at += 1
  }
  const value = () => {
    if (text[at] === '"') return string()
    if (text[at] === '[') {
      const elements = []
      parts(() => { elements.push(value()) })
      return elements
    }
    if (text[at] !== '{') return scalar()
    const object = {}
    parts(() => {
      const name = string()
      at += 1
      put(object, name, value())
    })
    return object
  }
  return value()
}

module.exports = { plain, put, textOf, valueOf }
