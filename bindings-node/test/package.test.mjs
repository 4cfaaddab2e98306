/** What is shipped: names, types, versions, the two module systems, and what importing costs. */

import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import * as esm from '../lib/index.js'
import * as esmHttp from '../lib/http.js'
import * as esmExecution from '../lib/execution.js'
import * as esmResult from '../lib/execution_result.js'
import * as esmJournal from '../lib/journal.js'
import * as esmTesting from '../lib/testing.js'
import { PACKAGE, PROJECT, directoryFor, runNode } from '../test-support/seat.mjs'

const require = createRequire(import.meta.url)
const { native } = require('../lib/native.js')
const read = (...path) => readFileSync(join(PACKAGE, ...path), 'utf8')
const manifest = JSON.parse(read('package.json'))

/** The values that a file of types exports. */
function valuesOf(types) {
  return [...types.matchAll(/^export (?:declare )?(?:class|function|const) (\w+)/gm)].map(([, name]) => name)
}

/** The words of an exported union of string literals. */
function unionOf(types, name) {
  const [, body] = new RegExp(`^export type ${name} =([^]*?)\\n\\n`, 'm').exec(types)
  return [...body.matchAll(/'([^']+)'/g)].map(([, word]) => word)
}

function typesOfExecution() {
  const parts = ['execution', 'execution_health', 'execution_lanes', 'execution_registry', 'execution_transport']
  return parts.map((part) => read('lib', `${part}.d.ts`)).join('\n')
}

test('esm_and_commonjs_have_the_same_names_and_the_same_classes', () => {
  for (const [namespace, file] of [[esm, '../lib/index.js'], [esmHttp, '../lib/http.js'], [esmJournal, '../lib/journal.js'], [esmExecution, '../lib/execution.js'], [esmResult, '../lib/execution_result.js'], [esmTesting, '../lib/testing.js']]) {
    const cjs = require(file)
    const { default: whole, 'module.exports': _, ...named } = namespace
    assert.equal(whole, cjs)
    assert.deepEqual(Object.keys(named).sort(), Object.keys(cjs).sort())
    for (const [name, value] of Object.entries(cjs)) assert.equal(named[name], value, name)
  }
})

test('the_package_is_found_by_its_own_name', async () => {
  const script = `
    const cjs = require('gallivant')
    const testing = require('gallivant/testing')
    import('gallivant').then(async (esm) => {
      const { TestHost } = await import('gallivant/testing')
      console.log(esm.Writer === cjs.Writer, TestHost === testing.TestHost, require('gallivant/package.json').name)
    })
  `
  const { stdout } = await runNode(['-e', script], { cwd: PACKAGE })
  assert.equal(stdout, 'true true gallivant\n')
})

/** The types of the package: `index.d.ts` and the files that it hands on. */
function typesOf() {
  const types = read('lib', 'index.d.ts')
  const parts = [...types.matchAll(/^export \* from '\.\/(\w+)\.js'$/gm)].map(([, part]) => read('lib', `${part}.d.ts`))
  assert.equal(parts.length, 3)
  return [types, ...parts].join('\n')
}

test('the_types_name_what_is_there', () => {
  const types = typesOf()
  const journal = read('lib', 'journal.d.ts')
  const execution = typesOfExecution()
  for (const [namespace, text] of [[esm, types], [esmHttp, read('lib', 'http.d.ts')], [esmJournal, journal], [esmExecution, execution], [esmResult, read('lib', 'execution_result.d.ts')], [esmTesting, read('lib', 'testing.d.ts')]]) {
    const { default: _, 'module.exports': __, ...named } = namespace
    assert.deepEqual([...new Set(valuesOf(text))].sort(), Object.keys(named).sort())
  }
  const { Fingerprint, Fleet, IdempotencyStore, Reader, Session, Writer } = esm
  const { DisplayWindow, Journal, LogReader, Projection } = esmJournal
  const { Execution, ExecutionRegistry, HealthStore, Machine, RawJson, Refresh, RegisteredCapability } = esmExecution
  const classes = { Execution, ExecutionRegistry, HealthStore, Machine, RawJson, Refresh, RegisteredCapability, Fingerprint, Fleet, IdempotencyStore, Reader, Session, Writer, DisplayWindow, Journal, LogReader, Projection }
  for (const [name, Class] of Object.entries(classes)) {
    const text = name in esmJournal ? journal : name in esmExecution ? execution : types
    const start = text.indexOf(`export class ${name} `)
    const body = text.slice(start, text.indexOf('\n}\n', start))
    const typed = [...body.matchAll(/^ {2}(?:readonly |private )?(\w+)[(:<]/gm)].map(([, member]) => member)
    const there = Object.getOwnPropertyNames(Class.prototype)
    assert.deepEqual([...new Set(typed)].sort(), there.sort(), name)
  }
})

test('the_union_of_codes_and_kinds_is_the_core_s_table', () => {
  const types = read('lib', 'index.d.ts')
  const table = esm.errorTable()
  assert.deepEqual(unionOf(types, 'ErrorCode'), table.map((row) => row.code))
  assert.ok(table.length >= 16)
  const kinds = unionOf(types, 'ErrorKind')
  for (const { code, kind, remedy, number, page } of table) {
    assert.ok(kinds.includes(kind), `${code} has kind ${kind}`)
    assert.match(remedy, /^[a-z].*[^.]$/)
    assert.ok(Number.isInteger(number) && number > 0)
    assert.ok(page.includes(code), `the page of ${code}`)
  }
})

test('constants_are_the_core_s', () => {
  assert.deepEqual([...esm.SESSION_VARIABLES], native.sessionVariables())
  assert.deepEqual(Object.keys(esm.defaultOptions()).sort(), [
    'alsoAcceptedSchemas', 'extension', 'futureSkewMs', 'lockWaitMs', 'probeBudgetMs', 'refreshMs', 'schema', 'staleMs',
    'wrapperlessPrefixes',
  ])
  const { staleMs, refreshMs, futureSkewMs, lockWaitMs } = esm.defaultOptions()
  assert.deepEqual([staleMs, refreshMs, futureSkewMs, lockWaitMs], [900_000n, 300_000n, 60_000n, 10_000n])
})

test('ex_jrn_10_the_words_of_a_journal_are_those_of_the_core', () => {
  const journal = read('lib', 'journal.d.ts')
  const core = readFileSync(join(PROJECT, 'core', 'src', 'journal', 'event.rs'), 'utf8')
  const wordsOf = (name) => [...new RegExp(`^    ${name} \\{([^]*?)^    \\}`, 'm').exec(core)[1].matchAll(/= "([^"]+)"/g)].map(([, word]) => word)
  for (const name of ['Provenance', 'GapReason']) assert.deepEqual(unionOf(journal, name), wordsOf(name))
  assert.deepEqual([esmJournal.HEARTBEAT_MS, esmJournal.MAX_PENDING_BYTES], [20_000, 327_680])
})

test('ex_bnd_01_ex_bnd_02_words_and_names_are_those_of_the_core', () => {
  const execution = typesOfExecution()
  const { limits, kinds, methods } = native.executionConstants()
  assert.deepEqual(unionOf(execution, 'ProviderState'), esmExecution.PROVIDER_STATES)
  assert.deepEqual(esmExecution.PROVIDER_STATES, [
    'queued', 'provisioning', 'running', 'waiting-for-input', 'retrieving-results', 'succeeded', 'failed',
    'cancellation-requested', 'cancelled', 'status-unknown',
  ])
  assert.deepEqual(unionOf(execution, 'TransportErrorKind'), kinds)
  const membersOf = (name) => {
    const [, body] = new RegExp(`^export interface ${name} \\{([^]*?)^\\}`, 'm').exec(execution)
    return [...body.matchAll(/^ {2}(\w+)[?:]/gm)].map(([, member]) => member)
  }
  assert.deepEqual(membersOf('Limits'), limits.map(({ name }) => name))
  assert.deepEqual(membersOf('Transport'), methods)
  assert.deepEqual([esmExecution.EXECUTION_VERSION, esmExecution.EXECUTION_CURSOR_BYTES], [1, 4096])
  for (const name of [
    'makeExecution', 'EXECUTION_VERSION', 'PROVIDER_STATES', 'EXECUTION_LIMITS', 'EXECUTION_CURSOR_BYTES', 'executionRegistry',
    'executionLive', 'executionRunner', 'assertExecutionDependency', 'dispatchNotSentError', 'collectionValidationError',
    'unsubmittedInitialDispatch',
  ]) assert.ok(name in esmExecution, name)
  assert.deepEqual(Object.keys(require('gallivant/execution-result')), ['reconcileExecutionResult'])
})

test('there_is_one_version', () => {
  const [, workspace] = /^version = "([^"]+)"/m.exec(readFileSync(join(PROJECT, 'Cargo.toml'), 'utf8'))
  assert.deepEqual([esm.version, native.version(), manifest.version], [workspace, workspace, workspace])
  // Each native module is a package of its own, of exactly this version and for the machines that it was built for.
  const platforms = readdirSync(join(PACKAGE, 'platforms'))
  assert.deepEqual(manifest.optionalDependencies, Object.fromEntries(platforms.map((name) => [`gallivant-${name}`, workspace])))
  for (const name of platforms) {
    const own = JSON.parse(read('platforms', name, 'package.json'))
    const [os, cpu] = name.split('-')
    assert.deepEqual([own.name, own.version, own.os, own.cpu, own.libc], [`gallivant-${name}`, workspace, [os], [cpu], ['glibc']])
    assert.deepEqual([own.main, own.files], [`gallivant.${name}.node`, ['gallivant-supervise', own.main]])
  }
})

test('every_file_that_is_named_is_there', () => {
  const files = readdirSync(join(PACKAGE, 'lib')).map((name) => `./lib/${name}`)
  for (const target of Object.values(manifest.exports).flatMap((value) => (typeof value === 'string' ? [] : Object.values(value)))) {
    assert.ok(files.includes(target), target)
  }
})

test('compilers_that_know_no_exports_find_the_same_types', () => {
  const { '.': main, './package.json': _, ...others } = manifest.exports
  assert.equal(manifest.types, main.types)
  const found = Object.entries(manifest.typesVersions['*']).map(([name, [types]]) => [`./${name}`, types])
  assert.deepEqual(found, Object.entries(others).map(([name, { types }]) => [name, types]))
})

test('the_test_commands_print_for_people_and_end_with_the_counts', async (t) => {
  const directory = directoryFor(t)
  writeFileSync(join(directory, 'one.test.mjs'), "import { test } from 'node:test'\ntest('the_only_one', () => {})\n")
  const commands = [manifest.scripts.test, ...readFileSync(join(PROJECT, 'Makefile'), 'utf8').match(/^\tnode --test .*$/gm)]
  assert.equal(commands.length, 2)
  // This process is a test itself, which a test that it starts would take for its parent.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  for (const command of commands) {
    const [program, ...args] = command.trim().split(' ')
    assert.equal(program, 'node')
    const { code, stdout } = await runNode([...args.slice(0, -1), 'one.test.mjs'], { cwd: directory, env })
    assert.equal(code, 0)
    assert.match(stdout, /^✔ the_only_one/)
    assert.match(stdout, /\nℹ tests 1\n[^]*\nℹ pass 1\nℹ fail 0\n[^]*ℹ duration_ms [\d.]+\n$/)
  }
})

test('importing_loads_one_file_and_no_native_module', async () => {
  const tell = `console.log(JSON.stringify({
    files: Object.keys(require.cache).length, native: require('node:fs').readFileSync('/proc/self/maps', 'utf8').includes('.node'),
  }))`
  const cjs = await runNode(['-e', `require('gallivant'); ${tell}`], { cwd: PACKAGE })
  assert.deepEqual(JSON.parse(cjs.stdout), { files: 1, native: false })
  const script = `import { Writer, claim } from 'gallivant'
    import { createRequire } from 'node:module'
    const require = createRequire(import.meta.url); ${tell}`
  const mjs = await runNode(['--input-type=module', '-e', script], { cwd: PACKAGE })
  assert.deepEqual(JSON.parse(mjs.stdout), { files: 1, native: false })
})

test('tokens_are_minted_unique_and_never_wrapperless', () => {
  const tokens = new Set(Array.from({ length: 1000 }, () => esm.mintToken()))
  assert.equal(tokens.size, 1000)
  for (const token of tokens) assert.match(token, /^\d+-\d+-\d+-[0-9a-f]{16}$/)
})

test('a_missing_native_module_says_which_one_is_wanted', async (t) => {
  const copy = directoryFor(t)
  cpSync(join(PACKAGE, 'lib'), join(copy, 'lib'), { recursive: true })
  const script = `const { mintToken } = require('./lib/index.js')
    try { mintToken() } catch (error) { console.log(error.message, '|', error.cause.code) }`
  const { stdout } = await runNode(['-e', script], { cwd: copy })
  assert.match(stdout, /cannot be loaded, target=`\w+-\w+(-gnu)?` \| MODULE_NOT_FOUND/)
})

test('the_native_module_is_found_beside_the_package_or_in_one_of_its_own', async (t) => {
  const copy = directoryFor(t)
  const target = `${process.platform}-${process.arch}-gnu`
  const file = `gallivant.${target}.node`
  cpSync(join(PACKAGE, 'lib'), join(copy, 'lib'), { recursive: true })
  const own = join(copy, 'node_modules', `gallivant-${target}`)
  mkdirSync(own, { recursive: true })
  cpSync(join(PACKAGE, 'platforms', `${target}`), own, { recursive: true })
  cpSync(join(PACKAGE, file), join(own, file))
  const script = `const { mintToken } = require('./lib/index.js')
    try { mintToken(); console.log(Object.keys(require.cache).find((path) => path.endsWith('.node'))) } catch (error) { console.log(error.cause.code) }`
  const run = async () => (await runNode(['-e', script], { cwd: copy })).stdout
  assert.equal(await run(), `${join(realpathSync(own), file)}\n`)
  // A file that is there and is no module is an error, and not a reason to load another.
  writeFileSync(join(copy, file), 'no module')
  assert.equal(await run(), 'ERR_DLOPEN_FAILED\n')
})
