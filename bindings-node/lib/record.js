'use strict'
/** A record that was found: what was found does not change, so nothing of it can be changed. */

/** Freezes a record and what is in it. */
function frozen(record) {
  if (record.extension !== null) {
    Object.freeze(record.extension.children)
    if (record.extension.process !== null) Object.freeze(record.extension.process)
    Object.freeze(record.extension)
  }
  return Object.freeze(record)
}

module.exports = { frozen }
