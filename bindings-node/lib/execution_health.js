'use strict'
/** The health of providers' accounts: who is authorised, and whose check is due (EX-SCH-09 to EX-SCH-19). Nothing here probes. */

const args = require('./arguments.js')
const { perform, refuseAborted, slow } = require('./calls.js')
const { jsonOf, secretsOf } = require('./execution_json.js')
const { inspectable } = require('./inspect.js')
const { valueOf } = require('./json.js')
const { NATIVE, callSync, native } = require('./native.js')
const { timerMs } = require('./timers.js')

/** Under this a store tells, for the files of this folder alone, when the refresh that is under way is over. */
const OVER = Symbol('over')

/** Under this, when whatever may have begun a refresh has ended: before that, one may be under way of which `OVER` tells nothing. */
const BEGUN = Symbol('begun')

/** Marks a construction from the inside. */
const FROM = Symbol('from')

class HealthStore {
  #native
  /** By provider and account: the refreshes that were begun here and are not over. */
  #underWay = new Map()
  /** By provider and account: the last call that may begin one. */
  #beginning = new Map()

  constructor(root, options) {
    const given = args.object('options', options, true)
    args.only('options', given, ['host', 'limits', 'scopes', 'secrets'])
    const host = args.host(given.host)
    const where = host.absolute(args.path('root', root))
    const limits = jsonOf('options.limits', given.limits ?? {})
    const scopes = args.list('options.scopes', given.scopes ?? []).map(scopeOf)
    const secrets = given.secrets === undefined || given.secrets === null ? [] : secretsOf(given.secrets)
    this.#native = callSync(() => native.NativeHealthStore.open(host, where, limits, scopes, secrets))
  }

  get [NATIVE]() { return this.#native }
  [OVER](scope) { return this.#underWay.get(keyOf(scope))?.over }
  [BEGUN](scope) { return this.#beginning.get(keyOf(scope)) }

  want(scope) {
    const wanted = scopeOf(scope)
    callSync(() => this.#native.want(wanted))
  }

  scheduled(scope) { return this.#native.scheduled(scopeOf(scope)) }

  async authorize(scope, options) {
    const asked = scopeOf(scope)
    return this.#perform(options, (wait) => this.#native.authorizeAsync(asked, wait))
  }

  async healthStatus(scope, options) {
    const asked = scopeOf(scope)
    return valueOf(await this.#perform(options, (wait) => this.#native.statusAsync(asked, wait)))
  }

  async due(options) { return this.#perform(options, (wait) => this.#native.dueAsync(wait)) }

  async begin(scope, options) {
    const asked = scopeOf(scope)
    const beginning = this.#begin(asked, options)
    const ended = beginning.then(() => {}, () => {}).then(() => {
      if (this.#beginning.get(keyOf(asked)) === ended) this.#beginning.delete(keyOf(asked))
    })
    this.#beginning.set(keyOf(asked), ended)
    return beginning
  }

  async #begin(asked, options) {
    const begun = await this.#perform(options, (wait) => this.#native.beginAsync(asked, wait))
    if (begun === null) return null
    let end
    const over = new Promise((resolve) => { end = resolve })
    this.#underWay.set(keyOf(asked), { over, end })
    return new Refresh(FROM, begun, asked, {
      perform: (options, start) => this.#perform(options, start, slow),
      look: () => this.#look(asked),
    })
  }

  /** Tells those who wait for a refresh that it is over, if it is. */
  #look(scope) {
    if (this.#native.scheduled(scope)) return
    this.#underWay.get(keyOf(scope))?.end()
    this.#underWay.delete(keyOf(scope))
  }

  async record(scope, result, options) {
    const [asked, text] = [scopeOf(scope), jsonOf('result', result)]
    try {
      return valueOf(await this.#perform(options, (wait) => this.#native.recordAsync(asked, text, wait), slow))
    } finally {
      this.#look(asked)
    }
  }

  async joinScheduled(scope, options) {
    const { signal, timeoutMs } = args.callOptions(options, ['timeoutMs'])
    const over = this[OVER](scopeOf(scope))
    const longest = Number(args.unsigned('timeoutMs', timeoutMs))
    refuseAborted(signal)
    if (over === undefined) return 'not-scheduled'
    let timer
    let onAbort
    try {
      return await Promise.race([
        over.then(() => 'over'),
        new Promise((resolve) => { timer = setTimeout(() => resolve('under-way'), timerMs(longest)) }),
        new Promise((_, reject) => {
          onAbort = () => reject(signal.reason)
          signal?.addEventListener('abort', onAbort, { once: true })
        }),
      ])
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
  }

  async #perform(options, start, gate) {
    const { signal } = args.callOptions(options)
    refuseAborted(signal)
    return perform({ wait: callSync(() => this.#native.beginWait()), signal, start, gate })
  }

  static { inspectable(this.prototype, 'HealthStore', () => ({})) }
}

class Refresh {
  #native
  #scope
  #store

  constructor(from, refresh, scope, store) {
    if (from !== FROM) throw new TypeError('a refresh is begun by HealthStore.begin')
    this.#native = refresh
    this.#scope = Object.freeze(scope)
    this.#store = store
  }

  get scope() { return this.#scope }

  async record(result, options) {
    const text = jsonOf('result', result)
    try {
      return valueOf(await this.#store.perform(options, (wait) => this.#native.recordAsync(text, wait)))
    } finally {
      // A failure has ended it too, but for one that was refused for its argument.
      this.#store.look()
    }
  }

  giveUp() {
    const wasUnderWay = this.#native.giveUp()
    this.#store.look()
    return wasUnderWay
  }

  static {
    // A Node without the symbol knows no blocks that would use it.
    if (Symbol.dispose !== undefined) {
      const value = function () { this.giveUp() }
      Object.defineProperty(this.prototype, Symbol.dispose, { value, configurable: true, writable: true })
    }
    inspectable(this.prototype, 'Refresh', ({ scope }) => ({ scope }))
  }
}

function scopeOf(scope) {
  const { provider, account } = args.object('scope', scope)
  return { provider: args.text('scope.provider', provider), account: args.text('scope.account', account) }
}

const keyOf = ({ provider, account }) => JSON.stringify([provider, account])

module.exports = { BEGUN, HealthStore, OVER, Refresh, scopeOf }
