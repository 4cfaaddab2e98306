'use strict'
/**
 * The plugin for OpenCode: it hands the events of OpenCode's plugin API to the library (HS-111). See `opencode.d.ts`.
 *
 * A plugin lives inside its harness, so the rules of a hook hold all the more (HS-115): nothing is thrown, nothing is
 * printed, and without a session in the environment nothing is done. An event is observed on the spot, before the
 * handler returns: OpenCode waits for no handler when it exits, and the turn's end is the last that it tells.
 *
 * OpenCode loads `opencode.mjs`, which exports the plugin and nothing else: OpenCode takes every export of a plugin's
 * file for a plugin, and a CommonJS file has more of them than its author wrote.
 */

const { SessionEnvironment, observeHookSync } = require('./index.js')

const HARNESS = 'opencode'

async function GallivantPlugin() {
  try {
    const session = SessionEnvironment.fromEnv()
    return session === null ? {} : handlers(session)
  } catch {
    return {}
  }
}

function handlers(session) {
  const { callSync, native } = require('./native.js')
  const telling = new Set(callSync(() => native.tellingEvents(HARNESS)))
  const parents = new Map()
  async function event(input) {
    try {
      const happened = input.event
      remember(parents, happened)
      if (telling.has(happened.type)) observeHookSync(HARNESS, payloadOf(parents, happened), { session })
    } catch {
      // What the library could not do is in the log beside the record.
    }
  }
  return { event }
}

/** Which session is whose child: only a session's own creation and updates tell it. */
function remember(parents, { type, properties }) {
  const info = properties?.info
  if (type === 'session.deleted') parents.delete(info?.id)
  else if ((type === 'session.created' || type === 'session.updated') && info?.parentID) parents.set(info.id, info.parentID)
}

/** The payload in the form that the core reads: the event, and beside it its session where that has a parent. */
function payloadOf(parents, event) {
  const id = event.properties?.sessionID
  const parentID = parents.get(id)
  return JSON.stringify(parentID === undefined ? { event } : { event, session: { id, parentID } })
}

module.exports = { GallivantPlugin }
