/** The handler for HTTP servers, where the application's answer is one that node:http takes otherwise, or not at all. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idempotent } from '../lib/http.js'
import { NAME, send, serverFor, storeFor } from '../test-support/creates.mjs'

const [OPERATION, SCOPE] = NAME

/** Servers with `make`: one behind the handler, and one without it. What `make` throws is answered 500 with its code. */
async function both(t, make, options = {}) {
  const store = await storeFor(t)
  const errors = []
  const handler = idempotent({ store, operation: OPERATION, scope: () => SCOPE, onError: (error) => errors.push(error), ...options })
  const made = (req, res) => {
    try {
      make(req, res)
    } catch (error) {
      if (res.headersSent) return res.destroy()
      res.statusMessage = undefined
      res.statusCode = 500
      res.end(error.code)
    }
  }
  const keyed = await serverFor(t, (req, res) => handler(req, res, (error) => {
    if (error) return res.writeHead(500).end(`next ${error.code}`)
    return made(req, res)
  }))
  const plain = await serverFor(t, made)
  return { store, errors, keyed: keyed.url, plain: plain.url }
}

const seen = ({ status, text, headers }) => [status, text, headers.get('location'), headers.get('link')]

/** What the server answers without the handler, it answers with it, and again to a repeat. */
async function theSame(t, make) {
  const { keyed, plain, store } = await both(t, make)
  const expected = seen(await send(plain, null))
  assert.deepEqual(seen(await send(keyed, 'k')), expected)
  const again = await send(keyed, 'k')
  assert.deepEqual(seen(again), expected)
  return { expected, again, claim: await store.inspect(...NAME, 'k') }
}

test('ik_01_a_status_is_replayed_however_the_application_spells_it', async (t) => {
  for (const status of ['201', 201.5]) {
    for (const make of [
      (req, res) => res.writeHead(status, { location: '/l' }).end('made'),
      (req, res) => {
        res.statusCode = status
        res.setHeader('location', '/l')
        res.end('made')
      },
    ]) {
      const { expected, again } = await theSame(t, make)
      assert.deepEqual([expected, again.replayed], [[201, 'made', '/l', null], 'true'])
    }
  }
})

test('ik_01_headers_are_taken_in_every_form_that_node_takes', async (t) => {
  const pairs = [['location', '/l'], ['link', '<a>'], ['link', '<b>']]
  for (const headers of [pairs.flat(), { location: '/l', link: ['<a>', '<b>'] }, pairs]) {
    const { expected } = await theSame(t, (req, res) => res.writeHead(201, headers).end('made'))
    assert.deepEqual(expected, [201, 'made', '/l', '<a>, <b>'])
  }
})

test('ik_01_what_is_changed_after_the_head_was_said_is_neither_sent_nor_saved', async (t) => {
  const codes = []
  const attempt = (change) => {
    try {
      change()
    } catch (error) {
      codes.push(error.code)
    }
  }
  const changes = (res) => {
    attempt(() => res.setHeader('location', '/other'))
    attempt(() => res.appendHeader('link', '<more>'))
    attempt(() => res.removeHeader('location'))
    res.statusCode = 500
  }
  const { expected, claim } = await theSame(t, (req, res) => {
    res.writeHead(201, { location: '/l' })
    changes(res)
    res.end('made')
    changes(res)
  })
  assert.deepEqual([expected, claim.resource], [[201, 'made', '/l', null], '/l'])
  const written = await theSame(t, (req, res) => {
    res.statusCode = 201
    res.write('ma')
    changes(res)
    res.end('de')
  })
  assert.deepEqual(written.expected, [201, 'made', null, null])
  assert.ok(codes.length >= 18 && codes.every((code) => code === 'ERR_HTTP_HEADERS_SENT'), `${codes}`)
})

test('what_node_refuses_of_an_answer_is_thrown_where_it_is_said_and_no_request_hangs', async (t) => {
  const cases = {
    ERR_HTTP_INVALID_STATUS_CODE: [
      (req, res) => res.writeHead(99).end('x'),
      (req, res) => {
        res.statusCode = 1000
        res.end('x')
      },
      (req, res) => {
        res.statusCode = 1000
        res.write('x')
      },
    ],
    ERR_INVALID_CHAR: [
      (req, res) => res.writeHead(201, 'a\r\nset-cookie: b').end('x'),
      (req, res) => {
        res.statusMessage = 'a\nb'
        res.end('x')
      },
    ],
    ERR_INVALID_ARG_TYPE: [
      (req, res) => res.end({ a: 1 }),
      (req, res) => res.end(new Uint16Array([300, 2])),
      (req, res) => res.end(7),
    ],
    ERR_INVALID_ARG_VALUE: [(req, res) => res.writeHead(201, ['location']).end('x')],
  }
  for (const [code, makes] of Object.entries(cases)) {
    for (const make of makes) {
      const { keyed, plain, errors } = await both(t, make)
      const [expected, ...keyedAnswers] = [await send(plain, null), await send(keyed, 'k'), await send(keyed, 'k')]
      assert.deepEqual([expected.status, expected.text], [500, code])
      for (const { status, text } of keyedAnswers) assert.deepEqual([status, text], [500, code])
      assert.deepEqual(errors, [])
    }
  }
})

test('ik_05_an_answer_that_cannot_be_sent_after_all_is_told_and_saved', async (t) => {
  const { keyed, store, errors } = await both(t, (req, res) => {
    const own = res.writeHead
    // As what wraps a response does: it is called when the answer is sent.
    res.writeHead = function writeHead(...given) {
      if (res.writableEnded === false) throw new Error('the wrapper fails')
      return own.apply(this, given)
    }
    res.statusCode = 201
    res.end('made')
  })
  await assert.rejects(send(keyed, 'k'))
  assert.deepEqual(errors.map(({ message }) => message), ['the wrapper fails'])
  assert.equal((await store.inspect(...NAME, 'k')).state, 'finished')
})

test('ik_05_what_is_no_id_of_a_thing_leaves_the_outcome_unknown', async (t) => {
  for (const wrong of [7, {}, '\ud800']) {
    for (const [make, options] of [
      [(req, res) => res.writeHead(201).end('made'), { resource: () => wrong }],
      [(req, res) => {
        req.idempotency.resource = wrong
        res.writeHead(201).end('made')
      }, {}],
    ]) {
      const { keyed, errors } = await both(t, make, options)
      const [first, again] = [await send(keyed, 'k'), await send(keyed, 'k')]
      assert.deepEqual([first.status, first.json.code], [500, 'idempotency_unknown'])
      assert.deepEqual([again.status, again.json.code], [409, 'idempotency_unknown'], 'it is nobody\'s any more')
      assert.deepEqual(errors.map(({ code }) => code), ['GALLIVANT_INPUT'])
    }
  }
  const empty = await both(t, (req, res) => res.writeHead(201, { location: '' }).end('made'))
  await send(empty.keyed, 'k')
  assert.equal((await empty.store.inspect(...NAME, 'k')).resource, '-', 'an empty header names nothing')
})

test('ik_10_an_application_that_has_ended_its_reservation_itself_answers_what_it_likes', async (t) => {
  for (const [way, state] of [['complete', 'finished'], ['release', null], ['abandon', null]]) {
    const lost = []
    const { keyed, store, errors } = await both(t, async (req, res) => {
      const { reservation } = req.idempotency
      await (way === 'complete' ? reservation.complete('own', '{}') : reservation[way]())
      res.writeHead(201, { location: '/l' }).end('made')
    }, { lost: (...given) => lost.push(given) })
    const { status, text } = await send(keyed, 'k')
    assert.deepEqual([status, text, lost, errors], [201, 'made', [], []], way)
    const claim = await store.inspect(...NAME, 'k')
    assert.deepEqual([claim?.state ?? null, claim?.resource ?? null], [state, state && 'own'], way)
  }
})

test('ik_05_whether_an_answer_is_of_a_made_thing_may_take_its_time_to_say', async (t) => {
  const { keyed, store } = await both(t, (req, res) => res.writeHead(500).end('no'), { isCompleted: async (status) => status < 300 })
  assert.equal((await send(keyed, 'k')).status, 500)
  assert.equal(await store.inspect(...NAME, 'k'), null)
})

test('an_answer_without_a_body_is_saved_without_one', async (t) => {
  const { expected, claim } = await theSame(t, (req, res) => res.writeHead(204).end('never sent'))
  assert.deepEqual([expected, claim.answer.includes(Buffer.from('never sent'))], [[204, '', null, null], false])
})

test('ik_12_a_closed_store_refuses_as_one_that_is_not_available', async (t) => {
  const { keyed, store, errors } = await both(t, (req, res) => res.writeHead(201).end('made'))
  await store.close()
  const { status, json, headers } = await send(keyed, 'k')
  assert.deepEqual([status, json.code, headers.get('retry-after')], [503, 'idempotency_store_unavailable', '1'])
  assert.deepEqual(errors.map(({ reason }) => reason), ['closed'])
})
