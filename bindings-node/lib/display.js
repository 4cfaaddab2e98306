'use strict'
/** What of a log a user interface shows. See `journal.d.ts`. Nothing of it touches a disk. */

const args = require('./arguments.js')
const { inspectable } = require('./inspect.js')
const { callSync, native } = require('./native.js')

class DisplayWindow {
  #native = native.NativeDisplayWindow.open()

  push(...parts) {
    const given = parts.map(partOf)
    callSync(() => this.#native.push(given))
  }

  paint() { return callSync(() => this.#native.paint()) }

  merge(parts, asked, before) {
    const given = args.list('parts', parts).map(partOf)
    const [cursor, next] = [args.optionalText('asked', asked), args.optionalText('before', before)]
    callSync(() => this.#native.merge(given, cursor, next))
  }

  close() { callSync(() => this.#native.close()) }
  painted() { return callSync(() => this.#native.painted()) }
  get counts() { return callSync(() => this.#native.counts()) }
  get oldestCursor() { return callSync(() => this.#native.oldestCursor()) ?? null }
  get recoveryCursors() { return callSync(() => this.#native.recoveryCursors()).map((cursor) => cursor ?? null) }

  static { inspectable(this.prototype, 'DisplayWindow', ({ counts }) => counts) }
}

function partOf(part) {
  const { id, position, text, isGap } = args.object('part', part)
  if (!Number.isInteger(position) || position < 0 || position > 0xffff_ffff) throw args.wrong('part.position', 'not a position')
  return { id: args.text('part.id', id), position, text: args.text('part.text', text), isGap: args.flag('part.isGap', isGap) }
}

function split(row) {
  const { id, kind, text, reason } = args.object('row', row)
  const given = { id: args.optionalText('row.id', id), kind: args.text('row.kind', kind),
    text: args.optionalText('row.text', text), reason: args.optionalText('row.reason', reason) }
  return callSync(() => native.splitRow(given))
}

module.exports = { DisplayWindow, split }
