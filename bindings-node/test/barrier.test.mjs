/** No panic crosses into JavaScript or into libuv. */

import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { GallivantError } from '../lib/index.js'
import { provokePanic } from '../lib/testing.js'
import { PACKAGE, claimedSeat, runNode } from '../test-support/seat.mjs'

const SOURCES = readdirSync(join(PACKAGE, 'src'), { recursive: true }).filter((name) => name.endsWith('.rs'))
const lines = (name) => readFileSync(join(PACKAGE, 'src', name), 'utf8').split('\n')

test('every_native_function_says_catch_unwind', () => {
  let functions = 0
  for (const name of SOURCES) {
    let attribute = null
    for (const [index, line] of lines(name).entries()) {
      const text = line.trim()
      if (text.startsWith('#[napi')) attribute = text
      else if (!text.startsWith('#[') && !text.startsWith('//') && text !== '') {
        if (attribute !== null && /\bfn\b/.test(text)) {
          functions += 1
          assert.match(attribute, /catch_unwind/, `${name}:${index + 1}: ${text}`)
        }
        attribute = null
      }
    }
  }
  assert.ok(functions > 50, `only ${functions} functions were found`)
})

test('every_task_s_compute_catches_what_unwinds', () => {
  let computes = 0
  for (const name of SOURCES) {
    const text = lines(name).join('\n')
    for (const { index } of text.matchAll(/\bfn compute\b/g)) {
      computes += 1
      const body = text.slice(index, text.indexOf('\n    }\n', index))
      assert.match(body, /catch_unwind\(/, `${name}: ${body}`)
    }
    const tasks = [...text.matchAll(/\bimpl\b[^{]*\bTask for\b/g)].length
    assert.equal([...text.matchAll(/\bfn compute\b/g)].length, tasks, `${name}: a task without its own compute`)
  }
  assert.ok(computes > 0)
})

test('a_bug_is_an_error_and_the_process_goes_on', async (t) => {
  const isInternal = (message) => (error) => {
    assert.ok(error instanceof GallivantError)
    assert.deepEqual([error.code, error.kind], ['GALLIVANT_INTERNAL', 'internal'])
    assert.match(error.message, message)
    assert.doesNotMatch(error.message, /\n/)
    return true
  }
  assert.throws(() => provokePanic.inFunction('one\nline'), isInternal(/place=`.*testing\.rs:\d+` panic=`one line`/))
  assert.throws(() => provokePanic.inBareFunction('bare'), isInternal(/panic=`bare`/))
  await assert.rejects(provokePanic.inTask('task'), isInternal(/place=`.*testing\.rs:\d+` panic=`task`/))
  const { writer } = claimedSeat(t)
  assert.equal((await writer.observe({ state: 'active' })).outcome, 'landed')
})

test('a_bug_prints_nothing_and_ends_no_process', async () => {
  const script = `
    const { provokePanic } = require('./lib/testing.js')
    const tasks = Array.from({ length: 20 }, (_, index) => provokePanic.inTask(String(index)).catch((error) => error.code))
    try { provokePanic.inFunction('x') } catch {}
    Promise.all(tasks).then((codes) => console.log(new Set(codes).size))
  `
  const { code, stdout, stderr } = await runNode(['-e', script], { cwd: PACKAGE })
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '1\n', stderr: '' })
})
