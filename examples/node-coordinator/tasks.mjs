/**
 * The tasks of a coordinator: what is wanted, as a file each, and a boundary for each that says what has become of it.
 *
 *     ROOT/tasks/ID/task.json    what somebody has asked for, written once and never changed
 *     ROOT/tasks/ID/work         the boundary's root: ledger, journal, result, and how far its publication has come
 *
 * Nothing else is kept. What is done next follows from these files alone, so that a coordinator which was killed at any moment goes
 * on where they stand, and several may work on one root: the boundaries' locks let one of them act on a task at a time.
 *
 * The operation's id is made of the task and not of the attempt (EX-LED-72): a dispatch that is repeated meets the first one.
 */

import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'

// In a program of your own: from 'gallivant/execution'
import { makeExecution, runId, runLane, runProgressLane, unresolved } from '../../bindings-node/lib/execution.js'
import { makeOnce, readJson, syncDirectory } from './disk.mjs'
import { CAPABILITIES } from './transport.mjs'

/** A name is one directory, and none that begins with a dot. */
export const TASK_ID = /^\w[\w.-]{0,63}$/

/** Somebody else has the task now. The next turn asks again. */
const BUSY = new Set(['EXECUTION_BUSY', 'EXECUTION_PUBLICATION_BUSY'])
/** What may go by itself. Every other refusal of a dispatch is for a person, and not tried again by itself (EX-LED-41). */
const PASSES = new Set([...BUSY, 'EXECUTION_IO', 'EXECUTION_DEADLINE', 'EXECUTION_ACCEPTANCE_UNKNOWN'])
/** How long a publication that failed waits, in milliseconds: twice as long each time. */
const [FIRST_WAIT_MS, LONGEST_WAIT_MS] = [1000, 60_000]
/** How a publication ends. What is blocked, no repetition changes. */
const ENDS = new Set(['published', 'blocked'])

/** The only operation of a task. */
const operationOf = (id) => `${id}.1`

export class Tasks {
  #root
  #options
  #transport
  #publishing
  #report
  /** By id. */
  #tasks = new Map()

  /**
   * `transport` gives what reaches the provider, for a task's place (`{repo, branch}`) or null; `publishing` is null where no
   * repository is worked on; `report` is told in one line what happens.
   */
  constructor({ root, transport, publishing, secrets, limits, report }) {
    this.#root = join(root, 'tasks')
    this.#options = { provider: CAPABILITIES.provider, account: 'main', capabilities: CAPABILITIES, secrets, limits, health: 'external' }
    this.#transport = transport
    this.#publishing = publishing
    this.#report = report
  }

  async open() { await mkdir(this.#root, { recursive: true, mode: 0o700 }) }

  get(id) { return this.#tasks.get(id) }

  /** The oldest first. */
  list() { return [...this.#tasks.values()].sort((one, other) => one.wanted.madeAt - other.wanted.madeAt) }

  /**
   * Writes down what is wanted, and gives the task. Once it has resolved the task is on disk, and will be dispatched whatever
   * happens. The same id once more gives the task that is there.
   */
  async create(id, wanted) {
    const directory = join(this.#root, id)
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const path = join(directory, 'task.json')
    const found = await readTask(path)
    if (found !== null) return this.#add(id, found)
    const { isPublished, ...rest } = wanted
    const publish = isPublished ? await this.#publishing.begin(id) : null
    await makeOnce(path, { ...rest, publish, madeAt: Date.now() })
    await syncDirectory(this.#root)
    return this.#add(id, await readTask(path))
  }

  async #add(id, wanted) {
    const known = this.#tasks.get(id)
    if (known !== undefined) return known
    const { publish, budgetUsd } = wanted
    const transport = this.#transport(publish && { repo: publish.repo, branch: publish.branch })
    const execution = makeExecution({ ...this.#options, transport, root: join(this.#root, id, 'work'), taskId: id, budgetUsd })
    const { provider, account } = this.#options
    const task = new Task(id, wanted, execution, runId({ taskId: id, provider, account, operationId: operationOf(id) }))
    this.#tasks.set(id, task)
    try {
      await task.learn()
    } catch (error) {
      // A ledger that cannot be read is for a person, and keeps no other task.
      task.phase = 'refused'
      this.#failed(task, error)
    }
    return task
  }

  /** Takes in the tasks that are on disk, as their ledgers have them. Asks nobody. */
  async load() {
    for (const id of await readdir(this.#root)) {
      if (!TASK_ID.test(id) || this.#tasks.has(id)) continue
      const wanted = await readTask(join(this.#root, id, 'task.json'))
      if (wanted !== null) await this.#add(id, wanted)
    }
  }

  /** A pass for every recorded run that has had none here, before anything is paid for (EX-REC-32). */
  async startup(concurrency, signal) {
    await this.#lane(({ isFresh, phase }) => isFresh && phase === 'runs', concurrency, signal, async (task) => {
      task.isFresh = false
      await this.#settled(task, await task.execution.startup({ signal }))
    })
  }

  /** Dispatches what is new. A submit that was begun is not given up: its reply is paid for. */
  async dispatch(concurrency, signal) {
    await this.#lane(({ phase }) => phase === 'new', concurrency, signal, async (task) => {
      const { prompt, model, budgetUsd, publish } = task.wanted
      const work = { operationId: operationOf(task.id), prompt, model, reservationUsd: budgetUsd, inputHead: publish?.inputHead }
      try {
        if (publish !== null) await this.#publisher().prepare(task)
        const { acknowledgement } = await task.execution.submit(work)
        this.#report(`${task.id} is ${acknowledgement.providerJobId} at the provider`)
        await task.learn()
      } catch (error) {
        // A stop was queued before: a pass writes its fence down.
        if (error.code === 'EXECUTION_FENCED') await task.execution.startup()
        await task.learn()
        if (error.code === 'EXECUTION_FENCED') return
        if (task.phase === 'new' && !PASSES.has(error.code)) task.phase = 'refused'
        throw error
      }
    })
  }

  /** One pass for every run that is due: it looks up, inspects, stops, collects. */
  async progress(concurrency, signal) {
    const running = new Map(this.list().filter(({ phase }) => phase === 'runs').map((task) => [task.execution, task]))
    for (const { execution, report, error } of await runProgressLane(running.keys(), { concurrency, signal })) {
      const task = running.get(execution)
      if (report !== null) await this.#settled(task, report)
      else if (!signal.aborted) this.#failed(task, error)
    }
  }

  /**
   * Goes on with every publication that is due. One that has begun is not given up at an end either: commands that were interrupted
   * are never run again (EX-VER-18), and the work would wait for a person.
   */
  async publish(concurrency, signal) {
    const isDue = ({ phase, publishAt }) => phase === 'publishes' && publishAt <= Date.now()
    await this.#lane(isDue, concurrency, signal, async (task) => {
      try {
        const { status, reason = '' } = task.publication = await this.#publisher().publish(task)
        task.error = null
        await task.learn()
        this.#report(`${task.id} is ${status} ${reason}`.trimEnd())
      } catch (error) {
        // A stop that came before the push: a pass writes its fence down, and nothing is pushed from then on.
        if (error.code === 'EXECUTION_FENCED') return task.execution.startup().then(() => task.learn())
        task.publishAt = Date.now() + task.publishMs
        task.publishMs = Math.min(2 * task.publishMs, LONGEST_WAIT_MS)
        if (!PASSES.has(error.code)) task.phase = 'refused'
        throw error
      }
    })
  }

  #publisher() {
    if (this.#publishing !== null) return this.#publishing
    throw new Error('this coordinator was started without a repository')
  }

  /** Has a dispatch or a publication tried again that was refused. */
  async resume(task) {
    task.error = null
    task.publishAt = 0
    await task.learn()
  }

  /** Asks for the end of a task. It is on disk once this has resolved, and nothing of the task is dispatched from then on. */
  async stop(task, reason) {
    await task.execution.requestCancel({ reason, controlId: 'stop' })
    task.isStopping = true
    if (task.phase === 'new') await task.learn()
  }

  /** Records that an operator has seen at the provider that no job was made. */
  async settleAbsent(task, evidence) {
    await task.execution.settleAbsent({ operationId: operationOf(task.id), evidence })
    await task.learn()
  }

  async close() { await Promise.all(this.list().map(({ execution }) => execution.close())) }

  async #lane(isWanted, concurrency, signal, work) {
    const tasks = this.list().filter(isWanted)
    const results = await runLane(tasks.map((task) => async () => {
      if (!signal.aborted) await work(task)
    }), concurrency)
    results.forEach(({ status, reason }, at) => {
      if (status === 'rejected' && !signal.aborted) this.#failed(tasks[at], reason)
    })
  }

  async #settled(task, report) {
    const before = task.outcome
    this.#note(task, report)
    await task.learn()
    if (before === null && task.phase !== 'runs') this.#report(`${task.id} has ended: ${task.isKnown ? wordOf(task.outcome) : 'stopped'}`)
  }

  #note(task, { error, nextAttemptAt }) {
    if (error !== null && error.code !== task.error?.code) this.#report(`${task.id}: ${error.code}; ${error.remedy}`)
    task.error = error
    task.nextAttemptAt = nextAttemptAt
  }

  #failed(task, error) {
    if (BUSY.has(error.code)) return
    if (error.code !== task.error?.code) this.#report(`${task.id}: ${error.message}; ${error.remedy ?? ''}`)
    const { code, reason, remedy, message } = error
    task.error = { code: code ?? 'failed', reason: reason ?? null, remedy: remedy ?? message }
  }
}

/**
 * A task, and how it stands. `phase` is what is to be done with it: `new` (to be dispatched), `runs` (to be asked about;
 * unresolved ones too), `publishes` (its result is on the way to a branch), `refused` (for a person), `ended`.
 */
class Task {
  phase = 'new'
  isFresh = true
  isKnown = false
  projection = null
  outcome = null
  error = null
  nextAttemptAt = null
  isStopping = false
  /** What the publication has come to, as the library has it; null before it has come to an end. */
  publication = null
  publishAt = 0
  publishMs = FIRST_WAIT_MS

  constructor(id, wanted, execution, runId) {
    this.id = id
    this.wanted = wanted
    this.execution = execution
    this.runId = runId
  }

  /** Reads from the ledger how the task stands. */
  async learn() {
    this.projection = await this.execution.inspect()
    // A run that was settled as absent is not the current one any more, and an outcome all the same.
    this.outcome = await this.execution.outcome(this.runId).catch((error) => {
      if (error.code === 'EXECUTION_UNKNOWN_RUN') return undefined
      throw error
    })
    this.isKnown = this.outcome !== undefined
    if (!this.isKnown) this.phase = this.projection.stopFence === null && !this.isStopping ? 'new' : 'ended'
    else if (this.outcome === null) this.phase = 'runs'
    else this.phase = await this.#isToBePublished() ? 'publishes' : 'ended'
  }

  /** Asked of the checkpoint, and of nothing that is kept here: another coordinator may have published it. */
  async #isToBePublished() {
    if (this.wanted.publish === null || !this.outcome.ok) return false
    const application = (await this.execution.resultView(this.runId))?.application
    if (ENDS.has(application?.status)) this.publication = application
    return this.publication === null && this.projection.stopFence === null
  }

  /** Whether nobody knows if the provider has the work. */
  get isUnresolved() { return this.projection?.acceptance === 'unknown' }

  /** Where the run's journal is, or null while there is no run. */
  get directory() { return this.isKnown ? this.execution.dirOf(this.runId) : null }
}

const wordOf = ({ absent, providerState }) => (absent ? 'absent' : providerState)

/** Every operation below a root of which nobody knows whether the provider has it. */
export async function unresolvedBelow(root) {
  const found = []
  for (const id of await readdir(join(root, 'tasks'))) {
    if (TASK_ID.test(id)) found.push(...await unresolved(join(root, 'tasks', id, 'work')))
  }
  return found
}

/** What is wanted, or null where nothing is written yet. It is there as a whole or not at all. */
async function readTask(path) {
  const found = await readJson(path)
  if (found === null) return null
  const { prompt, model, budgetUsd, publish = null, madeAt } = found
  return Object.freeze({ prompt, model, budgetUsd, publish, madeAt })
}
