/** What the tests of a publication share: a checkout with its remote, a collected run, and pull requests as data. */

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { WORK, boundaryFor, memoryTransport } from './execution.mjs'
import { directoryFor } from './seat.mjs'

export const sha256 = (text) => createHash('sha256').update(text).digest('hex')

export function git(at, ...args) {
  const env = { PATH: '/usr/bin:/bin', HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' }
  for (const who of ['AUTHOR', 'COMMITTER']) Object.assign(env, { [`GIT_${who}_NAME`]: 't', [`GIT_${who}_EMAIL`]: 't@example.org' })
  return execFileSync('git', args, { cwd: at, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}

/** Pull requests, as data. */
export function memoryService() {
  const [calls, opened] = [[], []]
  const publisher = {
    async findPullRequest() {
      calls.push('findPullRequest')
      return opened[0] ?? null
    },
    async createPullRequest({ title, head }) {
      calls.push('createPullRequest')
      opened.push({ number: 7, title, head })
      return opened[0]
    },
  }
  return { calls, publisher }
}

/** A bare remote, and a checkout of it at the task branch. */
export function repositoryFor(t) {
  const place = directoryFor(t)
  const [origin, checkout, scratch] = ['origin.git', 'checkout', 'scratch'].map((name) => join(place, name))
  mkdirSync(scratch)
  git(place, 'init', '-q', '--bare', '--initial-branch=main', 'origin.git')
  git(place, 'init', '-q', '--initial-branch=main', 'checkout')
  writeFileSync(join(checkout, 'README'), 'one\n')
  git(checkout, 'add', '-A')
  git(checkout, 'commit', '-q', '-m', 'first')
  git(checkout, 'remote', 'add', 'origin', origin)
  git(checkout, 'push', '-q', 'origin', 'main')
  git(checkout, 'checkout', '-q', '-b', 'task/1')
  return { origin, checkout, scratch, head: git(checkout, 'rev-parse', 'HEAD') }
}

/** A boundary with a run that is collected, and what it is published with. */
export async function collectedFor(t, more) {
  const repository = repositoryFor(t)
  const service = memoryService()
  const { jobs, transport } = memoryTransport()
  const plain = transport.collect
  transport.collect = async (input, call) => ({
    ...await plain(input, call),
    inputHead: repository.head, repo: 'org/repo', branch: 'task/1',
    files: [{ path: 'README', beforeHash: sha256('one\n'), afterHash: sha256('two\n'), text: 'two\n' }],
    pr: { title: 'A title', body: 'A body' },
  })
  const root = join(directoryFor(t), 'task')
  const execution = boundaryFor(t, root, transport, more)
  const { runId } = await execution.submit({ ...WORK, runId: 'run-1', inputHead: repository.head })
  for (const job of jobs.values()) Object.assign(job, { state: 'succeeded', costUsd: 0.25 })
  const pass = await execution.reconcile({ force: true })
  if (pass.error !== null) throw new Error(JSON.stringify(pass.error))
  return { ...repository, execution, root, runId, service }
}

/** What a task's result is published with, by these commands. */
export function optionsOf({ origin, checkout, scratch, service }, commands, more = {}) {
  const source = JSON.stringify(commands)
  const plan = {
    repo: 'org/repo', origin, branch: 'task/1', base: 'main',
    author: { name: 'A Coordinator', email: 'coordinator@example.org' },
    verification: { commands, source, approvedHash: sha256(source) },
  }
  return { plan, checkout, scratch, publisher: service.publisher, entryStopped: async () => false, ...more }
}
