/**
 * Begins a create and says `ready`; then does what it is told, a word a line, and says `done`. Arguments: the store and the
 * key.
 */

import { createInterface } from 'node:readline'
import { IdempotencyStore } from '../lib/index.js'

const [path, key] = process.argv.slice(2)
const store = await IdempotencyStore.open(path)
const reservation = await store.begin('things.create', ['org', 'ws'], key, 'body')
if (reservation.kind !== 'create') throw new Error(reservation.kind)
console.log('ready')

const words = {
  complete: () => reservation.complete('r-other', 'answer of the other'),
  release: () => reservation.release(),
  mark: () => reservation.effectStarting(),
}
for await (const word of createInterface({ input: process.stdin })) {
  await words[word]()
  console.log('done')
}
