/**
 * The rows of redaction from Node: node redaction_rows.mjs ROW DIRECTORY.
 *
 * Says `ready`, then makes as many operations as each line of standard input says and answers how many nanoseconds they
 * took. The directory is one that `redaction prepare` has made.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import redaction from '../bindings-node/lib/redaction.js'

const CHUNK = 64 * 1024

function must(holds, what) {
  if (!holds) throw new Error(`not as expected: ${what}`)
}

/** Pieces of a text, or of its bytes. */
function chunks(text) {
  const pieces = []
  for (let at = 0; at < text.length; at += CHUNK) pieces.push(text.slice(at, at + CHUNK))
  return pieces
}

function each(texts, redactor) {
  return () => must(redactor.texts(texts).length === texts.length, 'the texts')
}

const rows = {
  stream(text, redactor) {
    const stream = redactor.stream()
    const pieces = chunks(new Uint8Array(text))
    return () => must(stream.pushAll(pieces).length + stream.finish().length === text.length, 'the length')
  },
  texts(text, redactor) {
    return each(chunks(text.toString()), redactor)
  },
  lines(text, redactor) {
    return each(text.toString().trimEnd().split('\n'), redactor)
  },
}

const [row, directory] = process.argv.slice(2)
const text = readFileSync(join(directory, 'text'))
const secrets = readFileSync(join(directory, 'secrets'), 'utf8').split('\n')
const run = rows[row](text, new redaction.Redactor(secrets, { patterns: false }))
console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  const count = Number(line)
  const started = process.hrtime.bigint()
  for (let index = 0; index < count; index += 1) run()
  console.log(String(process.hrtime.bigint() - started))
}
