/** The guide and the package's page: what they say is run, each block in a process of its own. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Reader, Session, SessionEnvironment, Writer, claimSync, observeHookSync } from '../lib/index.js'
import { PACKAGE, PROJECT, directoryFor, runNode } from '../test-support/seat.mjs'

const GUIDE = readFileSync(join(PROJECT, 'docs', 'guides', 'node.md'), 'utf8')
const PAGE = readFileSync(join(PACKAGE, 'README.md'), 'utf8')

/** The blocks of a page that are in a language. */
function blocksOf(page, language) {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, 'gm'))].map(([, block]) => block)
}

/** A directory for the agents, and a way to run a block there. */
function agentsFor(t) {
  const root = directoryFor(t)
  // A harness that lives long enough to be attached.
  writeFileSync(join(root, 'claude'), '#!/bin/sh\nsleep 0.3\n')
  chmodSync(join(root, 'claude'), 0o700)
  const env = { ...process.env, PATH: `${root}:${process.env.PATH}` }
  const run = async (block) => {
    const text = block.replaceAll("'/agents/", `'${root}/`)
    const { code, stdout, stderr } = await runNode(['--input-type=module', '-e', text], { cwd: PACKAGE, env })
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' }, block)
    return stdout
  }
  return { root, run }
}

test('every_block_of_the_guide_runs_as_it_stands', async (t) => {
  const { root, run } = agentsFor(t)
  const said = []
  for (const block of blocksOf(GUIDE, 'js')) said.push(await run(block))
  const [coordinator, fleet, changes, why, wrapper, sibling, wrapperless, hook, stringified, paid, testing] = said
  assert.equal(said.length, 11)
  assert.equal(coordinator, 'never observed\n')
  assert.deepEqual([fleet, changes], ['', ''])
  assert.match(why, /^none, by HS-70\n {2}yes HS-70 +nothing stands there\n\n$/)
  assert.deepEqual([wrapper, sibling, wrapperless, hook], ['', '', 'sequence 1: landed\n', ''])
  const texts = JSON.parse(stringified)
  assert.deepEqual([texts.exit, texts.ownershipSequence, typeof texts.observedAtMs], ['exit 0', '1', 'string'])
  assert.equal(paid, 'EXECUTION_DISPATCH_REFUSED dispatch-refused\n')
  assert.match(testing, /^HARNESS_STATE_IO 5\n\d\d+\n$/)
  const ended = new Reader(join(root, 'worker-1')).readSync()
  assert.deepEqual([ended.state, ended.exit], ['ended', 'exit 0'])
})

test('every_block_of_the_guide_of_redaction_runs_as_it_stands', async (t) => {
  const { run } = agentsFor(t)
  const [block] = blocksOf(readFileSync(join(PROJECT, 'docs', 'guides', 'redaction.md'), 'utf8'), 'js')
  assert.equal(await run(block), [
    'login with [redacted] at https://[redacted]@example.com/',
    "{ '[redacted]': [ 'Bearer [redacted]', 9007199254740993n ] }",
    'log: [redacted]\n',
  ].join('\n'))
})

/** The guide's wrapper in a process of its own, around a harness; `changed` puts something else in a place of its text. */
function wrapperFor(t, harness, changed = ['', '']) {
  const { root } = agentsFor(t)
  writeFileSync(join(root, 'claude'), `#!/bin/sh\n${harness}\n`)
  const [block] = blocksOf(GUIDE, 'js').filter((text) => text.includes('Session.start('))
  const text = block.replaceAll("'/agents/", `'${root}/`).replace(...changed)
  const env = { ...process.env, PATH: `${root}:${process.env.PATH}` }
  const stdio = ['ignore', 'ignore', 'pipe']
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], { cwd: PACKAGE, env, stdio })
  t.after(() => child.kill('SIGKILL'))
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (part) => { stderr += part })
  const over = once(child, 'close').then(([code]) => ({ code, stderr }))
  const directory = join(root, 'worker-1')
  const reader = new Reader(directory)
  const ready = async () => {
    while (reader.readSync()?.state !== 'ready') await pause(10)
  }
  return { child, directory, reader, over, ready }
}

test('the_guide_s_wrapper_passes_sigterm_on_and_ends_with_the_harness_s_exit', { timeout: 120_000 }, async (t) => {
  const { child, reader, over, ready } = wrapperFor(t, 'exec sleep 60')
  await ready()
  child.kill()
  assert.deepEqual(await over, { code: 0, stderr: '' })
  assert.equal(reader.readSync().exit, 'signal 15')
})

test('the_guide_s_wrapper_says_nothing_of_a_harness_that_is_over_at_once', { timeout: 120_000 }, async (t) => {
  const attach = 'if (harness.pid !== undefined)'
  const { reader, over } = wrapperFor(t, 'exit 3', [attach, `await over\n${attach}`])
  assert.deepEqual(await over, { code: 0, stderr: '' })
  assert.equal(reader.readSync().exit, 'exit 3')
})

test('the_guide_s_wrapper_ends_its_harness_when_the_seat_is_another_s', { timeout: 120_000 }, async (t) => {
  const { directory, reader, over, ready } = wrapperFor(t, 'exec sleep 60')
  await ready()
  claimSync(directory, { agent: 'worker-1', harness: 'claude', token: 'tok-of-the-next' })
  assert.deepEqual(await over, { code: 0, stderr: '' })
  assert.deepEqual([reader.readSync().reason, reader.readSync().evidenceIncarnation], ['claimed', 'tok-of-the-next'])
})

test('hs_92_hs_93_the_guide_s_fleet_and_its_changes_tell_of_a_session', async (t) => {
  const { root, run } = agentsFor(t)
  const blocks = blocksOf(GUIDE, 'js').filter((text) => text.includes("eet('/agents/'"))
  assert.equal(blocks.length, 2)
  const start = { agent: 'worker-1', harness: 'claude', ptySession: 'w1' }
  const session = Session.startSync(join(root, 'worker-1'), start)
  session.writer.observeSync({ state: 'idle', reason: 'why' })
  assert.deepEqual([await run(blocks[0]), await run(blocks[1])], ['worker-1 idle why\n', 'worker-1 idle\n'])
  session.close()
})

test('hs_64_the_guide_s_claim_without_a_wrapper_takes_a_free_seat_and_leaves_a_wrapper_s_alone', async (t) => {
  const { root, run } = agentsFor(t)
  const [block] = blocksOf(GUIDE, 'js').filter((text) => text.includes('claimWrapperless('))
  const seat = join(root, 'worker-2')
  assert.equal(await run(block), 'sequence 1: landed\n')
  assert.equal(new Reader(seat).readSync({ probe: 'lease' }).state, 'idle')
  assert.equal(await run(block), 'sequence 2: landed\n', 'a session without a wrapper may be claimed from')
  const later = { agent: 'worker-2', harness: 'claude', token: 'claude-session-0b9f4c', ptySession: 'w2' }
  assert.equal(new Writer(seat, later).observeSync({ state: 'active' }).outcome, 'landed')
  const session = new SessionEnvironment({ agentDir: seat, ...later })
  assert.equal(observeHookSync('claude', '{"hook_event_name":"Stop"}', { session }).word, 'landed')
  claimSync(seat, { agent: 'worker-2', harness: 'claude', token: 'tok-of-a-wrapper' })
  assert.equal(await run(block), 'somebody else has the seat\n')
  assert.equal(new Reader(seat).readSync().evidenceIncarnation, 'tok-of-a-wrapper')
})

test('the_package_s_page_runs_as_it_stands', async (t) => {
  const { run } = agentsFor(t)
  const said = []
  for (const block of blocksOf(PAGE, 'js')) said.push(await run(block))
  assert.deepEqual(said, ['ended null\n', 'replay harness-1\n', '2n\n'])
})

test('getting_it_names_no_machine_s_folders_and_only_targets_that_there_are', () => {
  const [, getting] = /^## Getting it\n([^]*?)^## /m.exec(GUIDE)
  assert.doesNotMatch(getting, /target\/|linux-|x64|arm64|\.so\b/)
  const makefile = readFileSync(join(PROJECT, 'Makefile'), 'utf8')
  const targets = [...getting.matchAll(/`make ([\w-]+)`/g)].map(([, target]) => target)
  assert.ok(targets.includes('build'))
  for (const target of targets) assert.match(makefile, new RegExp(`^${target}:`, 'm'))
})
