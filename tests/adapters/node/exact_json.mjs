/**
 * JSON in which integers stay exact: they are read as bigints and written from bigints. `JSON.parse` would turn
 * 2^53 + 1 into a double.
 */

const TOKEN = /\s*(?:("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|([[\]{},:]|true|false|null))/y

/** Reads one JSON text. Throws a SyntaxError for anything else. */
export function parse(text) {
  let at = 0
  const next = () => {
    TOKEN.lastIndex = at
    const found = TOKEN.exec(text)
    if (found === null) throw new SyntaxError(`unexpected text at ${at}`)
    at = TOKEN.lastIndex
    return found
  }
  const punctuation = (...wanted) => {
    const [, , , mark] = next()
    if (!wanted.includes(mark)) throw new SyntaxError(`wanted ${wanted} before ${at}`)
    return mark
  }
  const peek = () => text.slice(at).trimStart()[0]

  const value = () => {
    const [, string, number, mark] = next()
    if (string !== undefined) return JSON.parse(string)
    if (number !== undefined) return /^-?\d+$/.test(number) ? BigInt(number) : Number(number)
    switch (mark) {
      case '{': return object()
      case '[': return array()
      case 'true': return true
      case 'false': return false
      case 'null': return null
      default: throw new SyntaxError(`unexpected ${mark} before ${at}`)
    }
  }

  const object = () => {
    const members = {}
    if (peek() === '}') { punctuation('}'); return members }
    do {
      const [, key] = next()
      if (key === undefined) throw new SyntaxError(`wanted a key before ${at}`)
      punctuation(':')
      Object.defineProperty(members, JSON.parse(key), { value: value(), enumerable: true, configurable: true })
    } while (punctuation(',', '}') === ',')
    return members
  }

  const array = () => {
    const items = []
    if (peek() === ']') { punctuation(']'); return items }
    do items.push(value())
    while (punctuation(',', ']') === ',')
    return items
  }

  const whole = value()
  if (text.slice(at).trim() !== '') throw new SyntaxError(`unexpected text at ${at}`)
  return whole
}

/** Writes one line of JSON. Members that are undefined are left out. */
export function stringify(value) {
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return `[${value.map(stringify).join(',')}]`
  if (value !== null && typeof value === 'object') {
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${stringify(member)}`).join(',')}}`
  }
  return JSON.stringify(value)
}
