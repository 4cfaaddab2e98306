'use strict'
/** Why a reader concludes what it does (HS-91), as JavaScript sees it. */

const { inspectable } = require('./inspect.js')
const { frozen } = require('./record.js')

class Explanation {
  #json
  #text

  constructor({ json, text, record, atMs, ...told }) {
    this.#json = json
    this.#text = text
    this.state = told.state
    this.reason = told.reason
    this.clause = told.clause
    this.validUntilMs = told.validUntilMs
    this.clock = Object.freeze(clockOf(json, atMs))
    this.ageMs = told.ageMs
    this.rows = Object.freeze(told.rows.map(Object.freeze))
    this.record = record ? frozen(withoutToken(record)) : null
    this.damage = told.damage
    Object.freeze(this)
  }

  toString() { return this.#text }

  /** The same as one JSON object, with every digit. */
  get json() { return this.#json }

  static { inspectable(this.prototype, 'Explanation', (explanation) => ({ ...explanation })) }
}

/** An explanation is made to be shown, and the token is its session's secret. */
function withoutToken({ incarnation, ...shown }) {
  return shown
}

/** The clocks that nobody sets count from the machine's boot, and are exact numbers for longer than machines last. */
function clockOf(json, wallMs) {
  const { bootId = null, bootMs, awakeMs, host = null } = JSON.parse(json).clock
  const exact = (ms) => (ms === undefined ? null : BigInt(ms))
  return { wallMs, bootId, bootMs: exact(bootMs), awakeMs: exact(awakeMs), host }
}

module.exports = { Explanation }
