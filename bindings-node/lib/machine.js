'use strict'
/** What is asked of the machine or of the library itself: tokens, processes, defaults, the table of codes. */

const { openOptions, pid } = require('./arguments.js')
const { callSync, native } = require('./native.js')

function mintToken(options) {
  const { host } = openOptions(options)
  return callSync(() => host.mintToken())
}

function identifyProcess(id, options) {
  const { host } = openOptions(options)
  const checked = pid('pid', id)
  return callSync(() => host.identifyProcess(checked)) ?? null
}

function defaultOptions() {
  return native.defaultOptions()
}

function errorTable() {
  return native.errorTable()
}

module.exports = { defaultOptions, errorTable, identifyProcess, mintToken }
