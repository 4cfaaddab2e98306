/**
 * How the result of a task becomes a branch and a pull request: the repository that its operator has written down, a checkout for
 * each task, and the book of pull requests. The order of things, and what stands after a crash, is the library's
 * (`reconcileExecutionResult`); here is what it leaves to a coordinator.
 *
 *     ROOT/tasks/ID/checkout    the task's branch, which nobody else works in
 *     ROOT/tasks/ID/scratch     the private profile of the commands that run
 *     ROOT/requests             the pull requests, a file each
 *
 * The repository is a file of JSON:
 *
 * | member | is |
 * | --- | --- |
 * | `repo` | its name, as results have it |
 * | `origin` | where it is fetched from and pushed to |
 * | `base` | the branch that work begins from, and that pull requests go to |
 * | `author` | who makes the commits: `{name, email}` |
 * | `checks` | the file with the commands that verify a result, one a line; a line that begins with `#` is none |
 * | `approvedHash` | the SHA-256 of that file as somebody has approved it. After a change of it nothing is published |
 * | `runtime` | `{directory, programs}`, an installation that the commands may read; may be missing |
 */

import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { access, mkdir, readFile, rm } from 'node:fs/promises'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { promisify } from 'node:util'

// In a program of your own: from 'gallivant/execution' and 'gallivant/execution-result'
import { TransportError, sandboxReadiness } from '../../bindings-node/lib/execution.js'
import { reconcileExecutionResult } from '../../bindings-node/lib/execution_result.js'
import { makeOnce, readJson, renameOnce, syncDirectory } from './disk.mjs'

const run = promisify(execFile)

/**
 * Nothing of a user's configuration or of this program's environment takes part, as in the library's own Git: a checkout has to be
 * what its commit says, and a key is nobody's business.
 */
const ENVIRONMENT = {
  PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'core.fsync',
  GIT_CONFIG_VALUE_0: 'all', GIT_TERMINAL_PROMPT: '0',
}

async function git(...args) {
  const { stdout } = await run('git', args, { env: ENVIRONMENT, timeout: 120_000 })
  return stdout
}

/** What cannot be done now. Its status is what a request is answered. */
class PublishingError extends Error {
  status = 503
}

export class Publishing {
  #repository
  #tasks
  #requests

  /** `root` is the coordinator's, `repository` what `readRepository` has given. */
  constructor({ root, repository }) {
    this.#repository = repository
    this.#tasks = join(root, 'tasks')
    this.#requests = pullRequestBook(join(root, 'requests'))
  }

  get repo() { return this.#repository.repo }

  async open() { await this.#requests.open() }

  /**
   * Where the work of a new task belongs, as it is written down with what is wanted: the revision to begin from is decided once, so
   * that a dispatch and a checkout which are made again are the same.
   */
  async begin(id) {
    const { repo, origin, base } = this.#repository
    const listed = await git('ls-remote', '--exit-code', '--', origin, `refs/heads/${base}`).catch(() => '')
    const [inputHead] = /^([0-9a-f]{64}|[0-9a-f]{40})\t/.exec(listed)?.slice(1) ?? []
    if (inputHead === undefined) throw new PublishingError(`the repository has no answer or no such branch, branch=\`${base}\``)
    return { repo, origin, base, branch: `task/${id}`, inputHead }
  }

  /**
   * Makes sure that what a task will have made can be published: that its result could be verified here, which is asked before
   * anything is cloned or paid for (EX-VER-39), and that its checkout stands.
   */
  async prepare({ id, wanted }) {
    this.#isOurs(wanted.publish)
    await sandboxReadiness({ runtime: this.#repository.runtime?.directory, runtimePrograms: this.#repository.runtime?.programs })
    await this.#checkout(id, wanted.publish)
  }

  /**
   * Goes on with the publication of a task's result, from wherever it stands, and gives what it has come to. It may be asked for
   * again after everything, and is one commit, one push and one pull request all the same.
   */
  async publish(task) {
    const { repo, origin, base, branch } = this.#isOurs(task.wanted.publish)
    const plan = { repo, origin, base, branch, author: this.#repository.author, verification: await this.#verification() }
    const checkout = await this.#checkout(task.id, task.wanted.publish)
    const scratch = join(this.#tasks, task.id, 'scratch')
    await mkdir(scratch, { recursive: true, mode: 0o700 })
    const { runtime } = this.#repository
    return reconcileExecutionResult(task.execution, task.runId, {
      plan, checkout, scratch, runtime, environment: process.env, publisher: this.#requests, entryStopped: () => task.isStopping,
    })
  }

  /** What was approved for one repository is nothing to another, to which this coordinator may have been turned since. */
  #isOurs(place) {
    if (place.repo === this.repo) return place
    throw new PublishingError(`the task is of another repository, repo=\`${place.repo}\``)
  }

  /** The list is read anew each time: what was approved is the file's content and not its name (EX-VER-01). */
  async #verification() {
    const { checks, approvedHash } = this.#repository
    const source = await readFile(checks, 'utf8')
    const commands = source.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'))
    return { commands, source, approvedHash }
  }

  /**
   * The task's checkout, at its branch. It gets its name once it is whole: one that a dead coordinator has left half way is made
   * anew beside it. Once it has its name only publications change it.
   */
  async #checkout(id, { origin, base, branch, inputHead }) {
    const path = join(this.#tasks, id, 'checkout')
    if (await access(path).then(() => true, () => false)) return path
    const staged = `${path}.${randomUUID()}`
    try {
      await git('clone', '--quiet', '--no-local', '--no-tags', '--template=', '--single-branch', '--branch', base, '--', origin, staged)
      await git('-C', staged, 'checkout', '--quiet', '-b', branch, inputHead)
      await renameOnce(staged, path)
    } catch (error) {
      await rm(staged, { recursive: true, force: true })
      throw new PublishingError(`no checkout could be made, origin=\`${origin}\``, { cause: error })
    }
    return path
  }
}

/**
 * Stands for the service that keeps pull requests: a book on disk, one file for each branch, so that there is one request for a
 * branch however often it is opened and by whomever. It never says of a request that there is none because it could not look, and
 * one that was opened by a call whose answer was lost is found by the next.
 */
export function pullRequestBook(directory) {
  const pathOf = ({ repo, branch }) => join(directory, `${encodeURIComponent(repo)}@${encodeURIComponent(branch)}.json`)
  /** A failure that says nothing of what was done. */
  const unknown = (cause) => { throw new TransportError('io', 'the book of pull requests cannot be used', { cause }) }
  return {
    open: () => mkdir(directory, { recursive: true, mode: 0o700 }),

    async findPullRequest(place) {
      try {
        const found = await readJson(pathOf(place))
        // Whoever wrote it may have died before its name was durable; who is told of it may rely on it.
        if (found !== null) await syncDirectory(directory)
        return found
      } catch (error) {
        return unknown(error)
      }
    },

    async createPullRequest({ repo, branch, base, head, title, body }) {
      const opened = { repo, branch, base, head, title, body, openedAt: Date.now() }
      return makeOnce(pathOf({ repo, branch }), opened).catch(unknown)
    },
  }
}

const TEXTS = ['repo', 'origin', 'base', 'checks', 'approvedHash']

/** Reads what an operator has written down of the repository. Paths in it may be relative to the file. */
export async function readRepository(file) {
  const wrong = (what) => new PublishingError(`the repository is not described, ${what}, file=\`${file}\``)
  let given
  try {
    given = await readJson(file)
  } catch {
    throw wrong('no JSON')
  }
  if (given === null || typeof given !== 'object') throw wrong('no object')
  for (const name of TEXTS) {
    if (typeof given[name] !== 'string' || given[name] === '') throw wrong(`member=\`${name}\``)
  }
  if (typeof given.author?.name !== 'string' || typeof given.author?.email !== 'string') throw wrong('member=`author`')
  const at = (path) => resolve(dirname(file), path)
  // A URL or `host:path` is no path of this machine.
  const origin = /^[^/]*:/.test(given.origin) || isAbsolute(given.origin) ? given.origin : at(given.origin)
  const runtime = given.runtime && { directory: at(given.runtime.directory), programs: at(given.runtime.programs) }
  return { ...given, origin, checks: at(given.checks), runtime }
}
