'use strict'
/** A machine that a test controls: clock, chance and faults over the real disk. See `testing.d.ts`. */

const args = require('./arguments.js')
const { perform } = require('./calls.js')
const { inspectable } = require('./inspect.js')
const { callSync, native } = require('./native.js')

class TestHost {
  #native
  #host

  constructor(options) {
    const given = args.object('options', options, true)
    args.only('options', given, ['wallMs', 'random', 'faults', 'machine', 'boot', 'jitter', 'points', 'onPause'])
    const wallMs = args.optionalUnsigned('wallMs', given.wallMs)
    const random = (given.random ?? []).map((value) => args.unsigned('random', value))
    const faults = given.faults === undefined ? undefined : faultsOf(given.faults)
    const [machine, boot] = [args.optionalText('machine', given.machine), args.optionalText('boot', given.boot)]
    this.#native = callSync(() => native.NativeTestHost.open(wallMs, random, faults, machine, boot))
    this.#putSeams(given)
    this.#host = this.#native.host()
  }

  #putSeams({ jitter, points, onPause }) {
    if (jitter === undefined && points === undefined) return
    if (jitter !== undefined && !Number.isFinite(jitter)) throw args.wrong('jitter', 'not a finite number')
    if (onPause !== undefined && typeof onPause !== 'function') throw args.wrong('onPause', 'not a function')
    const script = points === undefined ? undefined : faultsOf(points)
    const pauses = callSync(() => this.#native.setSeams(jitter, script, () => {
      for (const { number, point } of pauses.take()) {
        const resume = () => pauses.release(number)
        if (onPause === undefined) resume()
        else onPause({ point, resume })
      }
    }))
  }

  /** What is handed to the code under test, as its option `host`. */
  get host() { return this.#host }

  setWallMs(wallMs) {
    const now = args.unsigned('wallMs', wallMs)
    callSync(() => this.#native.setWallMs(now))
  }

  standAt(wallMs, sleptMs) {
    const [now, slept] = [args.unsigned('wallMs', wallMs), args.unsigned('sleptMs', sleptMs ?? 0n)]
    callSync(() => this.#native.standAt(now, slept))
  }

  advanceMs(ms) {
    const step = typeof ms === 'bigint' ? Number(ms) : ms
    if (!Number.isSafeInteger(step)) throw args.wrong('ms', 'not a safe integer')
    callSync(() => this.#native.advanceMs(step))
  }

  setFaults(faults) {
    const json = faultsOf(faults)
    callSync(() => this.#native.setFaults(json))
  }

  get operations() { return callSync(() => this.#native.operations()) }

  static { inspectable(this.prototype, 'TestHost', (machine) => ({ operations: machine.operations.length })) }
}

function faultsOf(faults) {
  return typeof faults === 'string' ? args.text('faults', faults) : JSON.stringify(faults)
}

/** Bugs on purpose, one for each place in which a real one could arise. Each throws, or rejects with, an error. */
const provokePanic = {
  inFunction(message) { return callSync(() => native.panicSync(message)) },
  inBareFunction(message) { return callSync(() => native.panicBare(message)) },
  async inTask(message) {
    const { host, set } = args.openOptions()
    return perform({ wait: args.beginWait(host, set), start: (wait) => native.panicAsync(message, wait) })
  },
}

module.exports = { TestHost, provokePanic }
