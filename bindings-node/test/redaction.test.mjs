/** Redaction: texts, bytes, values, and streams in every cutting. */

import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { GallivantError } from '../lib/index.js'
import { MARK, RedactionStream, Redactor, sanitize } from '../lib/redaction.js'

const TEXT = 'a first-line-of-it\r\nsecond-line-of-it b\n  second-line-of-it\nBearer abc, sk-'
const WANTED = 'a [redacted] b\n  [redacted]\nBearer [redacted], sk-'
const redactor = new Redactor(['first-line-of-it\nsecond-line-of-it'])

test('ex_red_01_values_and_strings_are_copied_without_secrets', () => {
  const given = { a: ['hunter2!', 1, true, null, { b: 'a hunter2! b' }], n: 2n ** 63n + 1n, f: 0.1, u: undefined, d: new Date(0) }
  const copy = sanitize(given, ['hunter2!', ''])
  assert.deepEqual(copy, {
    a: [MARK, 1, true, null, { b: `a ${MARK} b` }], n: 2n ** 63n + 1n, f: 0.1, d: '1970-01-01T00:00:00.000Z',
  })
  assert.equal(given.a[0], 'hunter2!')
  assert.equal(sanitize('a hunter2! b', [Buffer.from('hunter2!')]), `a ${MARK} b`)
  assert.equal(sanitize(7n), 7n)
  assert.equal(MARK, '[redacted]')
})

test('ex_red_09_keys_stay_distinct_whatever_they_are', () => {
  const keyed = JSON.parse('{"7":1,"5":"7","__proto__":{"7":2},"[redacted]":3,"x7":[4]}')
  const copy = new Redactor(['7']).value(keyed)
  assert.equal(JSON.stringify(copy), '{"5":"[redacted]","[redacted]":1,"__proto__":{"[redacted]":2},"[redacted]#2":3,"x[redacted]":[4]}')
  assert.equal(Object.getPrototypeOf(copy), Object.prototype)
})

test('ex_red_02_patterns_may_be_left_out', () => {
  const text = 'hunter2! ghp_0123456789abcdef'
  assert.equal(new Redactor(['hunter2!']).text(text), `${MARK} ${MARK}`)
  assert.equal(new Redactor(['hunter2!'], { patterns: false }).text(text), `${MARK} ghp_0123456789abcdef`)
  assert.deepEqual(new Redactor().texts(['a', 'Bearer abc']), ['a', `Bearer ${MARK}`])
  assert.equal(Buffer.from(new Redactor([new Uint8Array([255, 254])]).bytes(new Uint8Array([97, 255, 254]))).toString(), `a${MARK}`)
})

test('ex_red_12_every_cutting_gives_the_same', () => {
  for (let size = 1; size <= TEXT.length; size += 1) {
    const pieces = []
    for (let at = 0; at < TEXT.length; at += size) pieces.push(TEXT.slice(at, at + size))
    const stream = redactor.stream()
    const out = [...pieces.map((piece) => stream.push(piece)), stream.finish()]
    assert.equal(Buffer.concat(out).toString(), WANTED)
    assert.equal(Buffer.concat([stream.pushAll(pieces), stream.finish()]).toString(), WANTED)
    assert.equal(stream.heldBack, 0)
  }
  assert.equal(redactor.mostHeldBack, 2055)
  assert.ok(redactor.stream() instanceof RedactionStream)
})

test('a_transform_hands_out_the_rest_at_its_end', async () => {
  const out = []
  await pipeline(Readable.from([...TEXT].map((letter) => Buffer.from(letter))), redactor.transform(), async (source) => {
    for await (const chunk of source) out.push(chunk)
  })
  assert.equal(Buffer.concat(out).toString(), WANTED)
})

test('ex_red_23_an_empty_secret_and_what_is_no_string_are_refused_by_position', () => {
  for (const secrets of [['hunter2!', ''], ['hunter2!', null], ['hunter2!', 7], ['hunter2!', new Uint8Array()]]) {
    assert.throws(() => new Redactor(secrets), (error) => {
      assert.ok(error instanceof GallivantError)
      assert.deepEqual([error.code, error.reason, error.kind], ['EXECUTION_INPUT', 'secret', 'input'])
      assert.match(error.message, /position=`1`/)
      assert.doesNotMatch(inspect(error), /hunter/)
      return true
    })
  }
})

test('what_is_no_argument_is_refused', () => {
  const refused = (action) => assert.throws(action, { code: 'GALLIVANT_INPUT' })
  refused(() => new Redactor('hunter2!'))
  refused(() => new Redactor(Buffer.from('hunter2!')))
  refused(() => new Redactor(7))
  refused(() => new Redactor([], { pattern: true }))
  refused(() => new Redactor(['\ud800']))
  refused(() => redactor.text(7))
  refused(() => redactor.bytes(null))
  refused(() => redactor.stream().push({}))
  refused(() => redactor.value(undefined))
  const deep = JSON.parse('['.repeat(200) + ']'.repeat(200))
  assert.throws(() => redactor.value(deep), { code: 'EXECUTION_INPUT', reason: 'shape' })
  assert.deepEqual(redactor.value(['\ud800']), ['\ufffd'])
})

test('ex_red_01_a_bigint_is_no_string_whatever_the_program_has_taught_bigints', (t) => {
  BigInt.prototype.toJSON = function () { return this.toString() }
  t.after(() => { delete BigInt.prototype.toJSON })
  const copy = new Redactor(['hunter2!']).value({ a: 5n, b: 'hunter2!', c: [6n, 'x'] })
  assert.deepEqual(copy, { a: 5n, b: MARK, c: [6n, 'x'] })
})

test('lists_are_lists_and_a_text_is_none', () => {
  for (const given of [undefined, null, 7, {}, 'hunter2!', Buffer.from('hunter2!')]) {
    assert.throws(() => redactor.texts(given), { code: 'GALLIVANT_INPUT' })
    assert.throws(() => redactor.stream().pushAll(given), { code: 'GALLIVANT_INPUT' })
    if (given !== undefined) assert.throws(() => sanitize('x', given), { code: 'GALLIVANT_INPUT' })
  }
  assert.throws(() => new RedactionStream(redactor), TypeError)
})

test('nothing_shows_what_is_secret', () => {
  assert.doesNotMatch(inspect(redactor, { showHidden: true, depth: 9 }) + inspect(redactor.stream()), /first|second/)
})
