/** A typed program of a user, in CommonJS. */

import gallivant = require('gallivant')
import opencode = require('gallivant/opencode')
import testing = require('gallivant/testing')

declare const console: { log(...parts: unknown[]): void }

const reader: gallivant.Reader = new gallivant.Reader('/nowhere', { host: new testing.TestHost().host })
const state: gallivant.HarnessState | null = reader.readSync()
const plugin: Promise<opencode.GallivantHooks> = opencode.GallivantPlugin()
console.log('typed', state, gallivant.version, plugin)
// @ts-expect-error there is no such thing
console.log(gallivant.follow)
