/** Servers that make things behind the handler for HTTP, and what stands of their keys. */

import { idempotent } from '../lib/http.js'
import { NAME, serverFor, storeFor } from './creates.mjs'

const [OPERATION, SCOPE] = NAME

/** The bytes of a request's body. */
export async function bytesOf(req) {
  const chunks = []
  for await (const chunk of req) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** A server that makes things: `make(req, res, number)` in the place of the usual one. */
export async function thingsFor(t, options = {}, make = undefined) {
  const store = options.store ?? (await storeFor(t))
  const made = []
  const errors = []
  const usual = async (req, res, number) => {
    const body = await bytesOf(req)
    res.setHeader('set-cookie', 'secret=1')
    res.writeHead(201, { 'content-type': 'application/json', location: `/things/${number}` })
    res.write('{"number":')
    res.end(`${number},"bytes":${body.length},"raw":${req.rawBody?.length ?? null}}`)
  }
  const handler = idempotent({
    operation: OPERATION, scope: () => SCOPE, onError: (error) => errors.push(error), ...options, store,
  })
  const { server, url } = await serverFor(t, (req, res) => handler(req, res, (error) => {
    if (error) {
      res.statusCode = 500
      return res.end(error.code ?? String(error))
    }
    made.push(req)
    return (make ?? usual)(req, res, made.length)
  }))
  return { store, server, url, made, errors }
}

/** The state of a key's claim; null where there is none. */
export const state = async (store, key) => (await store.inspect(...NAME, key))?.state ?? null
