/**
 * A run's result to a pull request: applied, committed, verified, pushed and asked to be merged, each at most once. What is asked,
 * what is answered and what is to be done about it is told on the page `docs/guides/publish-a-result.md`.
 */

import type { Execution, Reply, TransportCall } from './execution.js'
import type { Path, Signal } from './index.js'

/** Where the work belongs, and by which commands it is verified: from your own registry, and never from the result. */
export interface PublicationPlan {
  /** The repository, as results name it. */
  repo: string
  /** The URL of the checkout's remote `origin`, to which is pushed. The repository's name where it is left out. */
  origin?: string | null | undefined
  /** The task branch, without `refs/heads/`. */
  branch: string
  /** The branch that the pull request goes to. */
  base: string
  /** The commit's message; one line that names the run where it is left out. */
  message?: string | null | undefined
  /** Who has made the commit. */
  author: { name: string, email: string }
  /** The commands, the text that they were read from as it is now, and the SHA-256 of the one that was approved. */
  verification: { commands: readonly string[], source: string, approvedHash: string }
}
/** Where a push and a pull request go: what every method of a publisher is given. */
export interface PublicationPlace { runId: string, repo: string, origin: string, branch: string, base: string, head: string }
/**
 * Your way to pull requests (EX-ART-35). Each method may be called again for the same place, because its answer may have been lost.
 * It rejects with a `TransportError`; anything else is a failure as well.
 */
export interface Publisher {
  /** The open pull request of the branch, or null. */
  findPullRequest(place: PublicationPlace, call: TransportCall): Reply | PromiseLike<Reply>
  /** Opens one, and gives what is to be saved of it. Asked for only where none was found. */
  createPullRequest(place: PublicationPlace & { title: string, body: string }, call: TransportCall): Reply | PromiseLike<Reply>
  /** Takes the place of the library's own push: `{}`, or `{ invalid: word }` for a fault that stays. Forward only. */
  push?(place: PublicationPlace, call: TransportCall): Reply | PromiseLike<Reply>
}
/** With what, and with whom, a result is published. */
export interface PublicationOptions {
  plan: PublicationPlan
  /** The root of a checkout at the task branch that nobody else works in. */
  checkout: Path
  /** An existing directory outside of the checkout. */
  scratch: Path
  publisher: Publisher
  /** Whether your registry has stopped the task's entry of a run. Asked at the beginning, and again before the push. */
  entryStopped(runId: string): boolean | PromiseLike<boolean>
  /** An installation that commands may read, and the directory of its programs. */
  runtime?: { directory: Path, programs: Path } | null | undefined
  /** The coordinator's environment, of which commands see a short list. */
  environment?: Readonly<Record<string, string | undefined>> | null | undefined
  /** How Git is run: its program, and what the remote needs. */
  git?: {
    program?: string | undefined, variables?: Readonly<Record<string, string>> | undefined, settings?: readonly string[] | undefined
  } | null | undefined
  /** Gives the call up: programs that run for it are ended, and what was reached stays. */
  signal?: Signal | null | undefined
}
/** What a publication has come to. What is blocked, no repetition changes. */
export type Publication =
  | { status: 'published', appliedHead: string, pr: Record<string, unknown> }
  | { status: 'blocked', reason: string, detail: string | null, blockedAt: number, appliedHead: string | null }
  | { status: 'nothing' }
/**
 * Publishes the collected result of a run, and goes on with a publication that was interrupted. What takes long has a thread of its
 * own: neither the loop nor a worker of the pool waits for it.
 *
 * Rejects with `EXECUTION_FENCED`, `EXECUTION_RESULT`, `EXECUTION_PUBLICATION_BUSY`, `EXECUTION_CONFLICT` for commands whose source
 * is not the approved one, and those of every call. What was reached stays, and the call may be repeated.
 */
export function reconcileExecutionResult(execution: Execution, runId: string, options: PublicationOptions): Promise<Publication>
