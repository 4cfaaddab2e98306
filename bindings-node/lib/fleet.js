'use strict'
/** Reading every record below a directory (HS-92). */

const args = require('./arguments.js')
const { Queue, perform, refuseAborted } = require('./calls.js')
const { callSync, native } = require('./native.js')
const { notProbe } = require('./probe.js')
const { entriesOf, textsOf } = require('./states.js')

const BOUNDS = ['maxDepth', 'maxRecords', 'maxDirectories']
/** Of a fleet alone: a watch is told of changes, and one thread looks. */
const THREADS = 'threads'

/** How far a fleet is looked for, as the native side takes it. */
function boundsOf(options) {
  const bounds = {}
  for (const name of [...BOUNDS, THREADS]) {
    const given = options[name]
    if (given === undefined || given === null) continue
    if (!Number.isInteger(given) || given < 0 || given > 0xffff_ffff) throw args.wrong(name, 'not a count')
    bounds[name] = given
  }
  return bounds
}

/** Whether the leases are asked for. */
function asksLeases(probe) {
  if (probe === undefined || probe === null) return false
  if (probe === 'lease') return true
  throw notProbe('the probe of a fleet is lease or none', probe)
}

function viewOf({ entries, validUntilMs, leftOut }, texts = textsOf(entries)) {
  return { entries: entriesOf(entries, texts), leftOut, validUntilMs }
}

class FleetCalls {
  #native
  #context
  #queue = new Queue()
  /** The texts of the last read, which cross again only when they have changed. */
  #known = { number: 0, texts: null }

  constructor(nativeFleet, root, context) {
    this.#native = nativeFleet
    this.root = root
    this.#context = context
  }

  async read(options) {
    const { probe, signal } = args.callOptions(options, ['probe'])
    const lease = asksLeases(probe)
    refuseAborted(signal)
    const { host, set } = this.#context
    let known
    const start = (wait) => {
      known = this.#known
      return this.#native.readAsync(lease, known.number, wait)
    }
    return this.#viewOf(await perform({ wait: args.beginWait(host, set), signal, queue: this.#queue, start }), known)
  }

  readSync(options) {
    const { probe, signal } = args.callOptions(options, ['probe'])
    const lease = asksLeases(probe)
    refuseAborted(signal)
    const known = this.#known
    return this.#viewOf(callSync(() => this.#native.readSync(lease, known.number)), known)
  }

  /** `known` is what was known when the read was begun: another may have ended since. */
  #viewOf(parts, known) {
    const { entries, textsNumber: number } = parts
    if (entries.texts !== null) known = this.#known = { number, texts: textsOf(entries) }
    return viewOf(parts, known.texts)
  }

  /** Takes its place among the reads that were begun before it. */
  forget() {
    this.#queue.afterwards(() => callSync(() => this.#native.forget()))
  }
}

/** What every call on a fleet takes: where it is, how far it is looked for, and with what. */
function placeOf(root, options, others = []) {
  const { host, set } = args.openOptions(options, [...BOUNDS, THREADS, ...others])
  return { where: host.absolute(args.path('root', root)), bounds: boundsOf(options ?? {}), host, set }
}

function openFleet(root, options) {
  const { where, bounds, host, set } = placeOf(root, options)
  return new FleetCalls(callSync(() => native.NativeFleet.open(host, where, bounds, set)), where, { host, set })
}

/** The arguments of one read that keeps nothing. */
function onceOf(root, options) {
  const place = placeOf(root, options, ['probe', 'signal'])
  const { probe, signal } = args.callOptions({ probe: options?.probe, signal: options?.signal }, ['probe'])
  const lease = asksLeases(probe)
  refuseAborted(signal)
  return { ...place, lease, signal }
}

async function readFleet(root, options) {
  const { where, bounds, host, set, lease, signal } = onceOf(root, options)
  const start = (wait) => native.readFleetAsync(host, where, bounds, set, lease, wait)
  return viewOf(await perform({ wait: args.beginWait(host, set), signal, start }))
}

function readFleetSync(root, options) {
  const { where, bounds, host, set, lease } = onceOf(root, options)
  return viewOf(callSync(() => native.readFleetSync(host, where, bounds, set, lease)))
}

module.exports = { BOUNDS, asksLeases, boundsOf, openFleet, readFleet, readFleetSync }
