/** A client of server-sent events for the tests. */

import { once } from 'node:events'
import { request } from 'node:http'

/** What a client makes of a stream of server-sent events, by the format's own rules. */
export class Events {
  seen = []
  comments = 0
  lastId = ''
  #rest = ''
  #event = ''
  #data = null

  push(text) {
    // What may be the first half of a pair waits for the second.
    this.#rest += text
    for (;;) {
      const [whole, line] = /^(.*?)(?:\r\n|\n|\r(?!$))/s.exec(this.#rest) ?? []
      if (whole === undefined) return
      this.#rest = this.#rest.slice(whole.length)
      this.#line(line)
    }
  }

  #line(line) {
    if (line === '') {
      if (this.#data !== null) this.seen.push({ id: this.lastId, event: this.#event, data: this.#data })
      this.#data = null
      this.#event = ''
      return
    }
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)
    if (name === '') this.comments += 1
    else if (name === 'id') this.lastId = value
    else if (name === 'event') this.#event = value
    else if (name === 'data') this.#data = this.#data === null ? value : `${this.#data}\n${value}`
  }
}

/** A client that reads as fast as it can. */
export async function clientFor(port, headers = {}, agent, path = '/') {
  const events = new Events()
  const req = request({ port, host: '127.0.0.1', path, headers, agent: agent ?? false }).end()
  const [res] = await once(req, 'response')
  res.setEncoding('utf8').on('data', (text) => events.push(text)).on('error', () => {})
  return { req, res, events, ids: () => events.seen.map(({ id }) => id), closed: new Promise((resolve) => res.on('close', resolve)) }
}
