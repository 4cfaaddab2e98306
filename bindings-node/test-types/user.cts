/** A typed program of a user, in CommonJS. */

import gallivant = require('gallivant')
import testing = require('gallivant/testing')

declare const console: { log(...parts: unknown[]): void }

const reader: gallivant.Reader = new gallivant.Reader('/nowhere', { host: new testing.TestHost().host })
const state: gallivant.HarnessState | null = reader.readSync()
console.log('typed', state, gallivant.version)
// @ts-expect-error there is no such thing
console.log(gallivant.follow)
