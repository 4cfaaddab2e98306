/// <reference lib="esnext.disposable" />
/**
 * The execution layer: paid work is recorded, never doubled, never lost and never mistaken. The rules are the sections EX of
 * the project's `docs/spec/execution.md`, the bytes `docs/format/execution.md`.
 *
 * - An {@link Execution} is the boundary of one task. Its calls are the only ones that write the files in the task's root.
 * - What reaches the provider is your {@link Transport}. Everything that has to be durable is so before a method of it is called.
 * - The rest is as the page of `gallivant` has it: promises, `signal`, `GallivantError`. Times are milliseconds since 1970. An
 *   integer that no `number` holds is a bigint.
 * - A call that its signal has ended rejects with the signal's reason. Where the provider may own the work all the same, it
 *   rejects with `EXECUTION_ACCEPTANCE_UNKNOWN`, whose `cause` is the reason.
 */

import type { HealthRecord, HealthStore } from './execution_health.js'
import type { Capability, ExecutionRegistry, RegisteredCapability } from './execution_registry.js'
import type { AbortSignalOf, ProviderEvent, Reply, Scope, Transport } from './execution_transport.js'
import type { CallOptions, ErrorCode, GallivantError, Host, Path, Signal } from './index.js'

export * from './execution_health.js'
export * from './execution_lanes.js'
export * from './execution_registry.js'
export * from './execution_transport.js'

/** The version of the contract between a boundary and its host. */
export const EXECUTION_VERSION: number
/** The most bytes that a provider's cursor has as JSON. */
export const EXECUTION_CURSOR_BYTES: number
/** What is known of a run at its provider. No state says that work is ready for anything. */
export type ProviderState =
  | 'queued' | 'provisioning' | 'running' | 'waiting-for-input' | 'retrieving-results' | 'succeeded' | 'failed'
  | 'cancellation-requested' | 'cancelled' | 'status-unknown'
/** All of them, in their order. */
export const PROVIDER_STATES: readonly ProviderState[]

/** The limits of a boundary, in the unit of the name. What each is for is on the page `docs/guides/execution-limits.md`. */
export interface Limits {
  deadlineMs: number
  progressMs: number
  backoffMaxMs: number
  concurrency: number
  eventPageRecords: number
  eventPageBytes: number
  resultBytes: number
  healthRefreshMs: number
  lockWaitMs: number
  killAfterMs: number
}
/** Every limit with its default and its range. */
export const EXECUTION_LIMITS: readonly Readonly<{ name: keyof Limits, default: number, min: number, max: number }>[]

/**
 * A value that JSON has a text for; a bigint is an integer with all its digits. A number that is not finite is refused in what a
 * caller hands over: `JSON.stringify` would make null of it, as if nothing had been said.
 */
export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [name: string]: Json | undefined }

/** A JSON text that stands for its value: its numbers keep every digit, which a `number` does not. */
export class RawJson {
  constructor(text: string)
  readonly text: string
}

/** An amount of US dollars: a number, the text of one, or a text of JSON. */
export type Amount = number | string | RawJson

/** The amount in dollars, as text, and in whole nano-dollars. */
export interface Money { usd: string, nano: bigint }

/** Reads an amount. What is finer than a nano-dollar is rounded `up`, or `down`. Throws `EXECUTION_INPUT` for what is none. */
export function money(amount: Amount, round?: 'up' | 'down'): Money
/** The same, as nano-dollars alone. */
export function nanoUsd(amount: Amount, round?: 'up' | 'down'): bigint

/** A provider's token of where its pages go on. It is kept and sent back as it came. */
export type Cursor = string | number | bigint | boolean

/** How one harness is run: its command line as data. */
export interface HarnessProfile {
  program: string
  /** Arguments; a list inside the list is there if its places `{prompt}`, `{session}`, `{model}` have values. */
  start: (string | string[])[]
  resume: (string | string[])[]
  prompt: 'stdin' | 'argument'
  mintsSession?: boolean | undefined
  output: 'exit' | 'claude-stream-json' | 'codex-json' | 'opencode-json' | 'gemini-json'
}

/** The built-in process host. */
export interface LocalRunnerOptions {
  /** The path of `gallivant-supervise`, where it is not beside the library. */
  supervisor?: string | undefined
  /** Harnesses beside those that come with the library, by name. */
  harnesses?: Record<string, HarnessProfile> | undefined
}

/** What a boundary is made of (EX-BND-04). */
export interface ExecutionOptions {
  /** The directory that holds all files of the task. It is created with the first write. */
  root: Path
  taskId: string
  provider: string
  account: string
  /** What the provider can do. A registered record is judged by `registry`, which is its own where none is given. */
  capabilities: Capability | RegisteredCapability | RawJson
  registry?: ExecutionRegistry | undefined
  /** The remote adapter; or `runner`, for a local record. */
  transport?: Transport | undefined
  /**
   * Process runs: an object with the options of the built-in process host; or true, and their calls have the port `process` and are
   * answered in raw steps: {@link Execution.machine}.
   */
  runner?: true | LocalRunnerOptions | undefined
  /** The task's budget. A remote dispatch needs one. */
  budgetUsd?: number | RawJson | null | undefined
  limits?: Partial<Limits> | null | undefined
  /** Values that appear in no file but where the specification says so. */
  secrets?: Iterable<string> | null | undefined
  /** Who vouches for the account: a store, a record, or `external`: you do. Without anybody every dispatch is refused. */
  health?: HealthStore | HealthRecord | 'external' | null | undefined
  /** When an intake turn must have ended, in milliseconds since 1970. */
  intakeDeadlineAt?: number | null | undefined
  /** Whether a remote dispatch is refused while it is not proved that this machine has a sandbox for verification. */
  sandboxRequired?: boolean | null | undefined
  /** The machine to work on. */
  host?: Host | null | undefined
}

/** New work, or another turn (EX-LED-20). */
export interface DispatchInput {
  /** Yours, and new for each piece of work. The same once more gives what the first has come to. */
  operationId: string
  runId?: string | undefined
  kind?: 'implementation' | 'intake' | undefined
  prompt: string
  inputHead?: string | null | undefined
  policy?: string | null | undefined
  model?: string | null | undefined
  environment?: string | null | undefined
  /** What the work may cost. It counts against the budget from now on. */
  reservationUsd?: number | null | undefined
  hardCapRequired?: boolean | undefined
  hardCapUsd?: number | null | undefined
  preparation?: Json | undefined
  grant?: Json | undefined
  native?: Json | undefined
  workflow?: Json | undefined
  successorOf?: string | null | undefined
  spec?: Json | undefined
  sessionId?: string | null | undefined
  response?: { signature: string, answer: Json } | undefined
  legacySessionId?: string | null | undefined
}

/** Members that results have besides, and that later versions may add. */
export interface More { [name: string]: unknown }

/** What the ledger has of a run. An unknown cost is null, and never 0. */
export interface RunMetadata extends More {
  runId: string, state: ProviderState, providerJobId: string | null, turnId: string | null, costUsd: number | null, costNanoUsd?: bigint | null
}
/** What a dispatch gives. */
export interface Dispatched extends More {
  operationId: string, runId: string
  acceptance: 'unknown' | 'accepted' | 'absent'
  acknowledgement: ({ providerJobId: string, turnId: string, sessionId: string | null, cursor: Cursor | null } & More) | null
  /** Whether nothing was sent, because the operation was known. */
  reused: boolean
  execution: RunMetadata | null
}
/** What a pass gives (EX-BND-12). */
export interface Report extends More {
  runId: string | null
  acceptance: 'unknown' | 'accepted' | 'absent' | null
  state: ProviderState | null
  terminalState: string | null
  /** The methods of the transport that were called, in order. */
  called: string[]
  /** What was saved as a reason to come again. A transport's own words are in no report and in no file. */
  error: { code: ErrorCode, reason: string | null, remedy: string } | null
  nextAttemptAt: number | null
  recovery: string | null
}
/**
 * What is recorded of the current run (EX-BND-21). Amounts in nano-dollars are bigints, at which `JSON.stringify`
 * throws: give it a replacer that makes texts of them.
 */
export interface Projection extends More {
  taskId: string
  runId: string | null
  acceptance: 'unknown' | 'accepted' | 'absent' | null
  state: ProviderState | null
  live: boolean
  failures: number | null
  nextAttemptAt: number | null
  costUsd: number | null
  costNanoUsd: bigint | null
}
/** What a stop has come to. */
export interface Stopped { confirmed: boolean, terminal?: true, unsupported?: true }
/** What a settled run has come to (EX-BND-16); `costNanoUsd` is a bigint, as in a {@link Projection}. */
export interface Outcome extends More {
  finished: true
  ok: boolean
  exit: unknown
  cost: number | null
  costNanoUsd: bigint | null
  denials: unknown[]
  resultRejected: boolean, quarantined: boolean, completionInferred: boolean, absent: boolean
  providerState: ProviderState
  completedAt: number | null
}

/**
 * The boundary of one task, made by {@link makeExecution}. Calls of one task exclude each other by its lock, in one process or
 * in several; a call that waits for it holds no worker of the pool. Every call may be made again after a crash at any point.
 */
export class Execution {
  private constructor()
  /** The limits in force. */
  readonly limits: Readonly<Limits>

  /**
   * Dispatches new work. Once it has resolved, operation, acknowledgement and reservation are on disk.
   * `EXECUTION_ACCEPTANCE_UNKNOWN` leaves the intent there, and nothing else of the task is dispatched until that is resolved:
   * by a pass that looks it up, or by {@link adopt} or {@link settleAbsent}. It is never sent again by itself.
   */
  submit(input: DispatchInput, options?: CallOptions): Promise<Dispatched>
  /** Dispatches another turn in the session of the current run. */
  continue(input: DispatchInput, options?: CallOptions): Promise<Dispatched>
  /** Asks for a receipt for an intake turn. The receipt is on disk then, the grant never is. */
  prepare(input: { operationId: string, phase: 'draft' | 'clarify' | 'repair', prompt: string, environment?: Json, model?: string | null }, options?: CallOptions): Promise<{ receipt: Record<string, unknown>, environment: unknown } & More>
  /** Looks for the lost reply of an answer; `input` is that of the `continue`. */
  recoverResponse(operationId: string, input: DispatchInput | RawJson, options?: CallOptions): Promise<Dispatched>
  /** One pass, due or not: for a coordinator that has just started. */
  startup(options?: CallOptions): Promise<Report>
  /** One pass over the current run, if it is due or forced. */
  reconcile(input?: { force?: boolean | undefined } | null, options?: CallOptions): Promise<Report>
  /** The collection step alone, for a run that has ended at its provider; else the projection. */
  collect(runId: string, options?: CallOptions): Promise<Report | Projection>
  /** Stops the current run, or the one that is named. The fence is on disk before anything is sent. */
  cancel(input: { reason: string, runId?: string | undefined, controlId?: string | undefined }, options?: CallOptions): Promise<Stopped>
  /** Queues a stop, also while somebody else has the task's lock. The next pass applies it. */
  requestCancel(input: { reason: string, controlId: string, runId?: string | undefined }, options?: CallOptions): Promise<{ queued: true }>
  /** As `cancel`, with the fence of a preparation. */
  preparationStop(input: { reason: string, runId?: string | undefined, controlId?: string | undefined }, options?: CallOptions): Promise<Stopped>
  /** As `cancel`, with the fence of a timeout. */
  timeoutStop(input?: { runId?: string | undefined, controlId?: string | undefined } | null, options?: CallOptions): Promise<Stopped>
  /** Stops the turn of the current process run, keeps its session and sets no fence. Its output is quarantined. */
  interrupt(input: { reason: string, runId?: string | undefined, controlId?: string | undefined }, options?: CallOptions): Promise<Stopped>
  /** Records by what an operator has seen which job an operation became whose acceptance is unknown. Calls nobody. */
  adopt(input: { operationId: string, acknowledgement: { providerJobId: string, turnId: string, sessionId?: string | null, cursor?: Cursor | null }, evidence: string }, options?: CallOptions): Promise<Dispatched>
  /** Records that the provider proved never to have accepted an operation. Calls nobody. */
  settleAbsent(input: { operationId: string, evidence: string }, options?: CallOptions): Promise<Dispatched>

  /**
   * Starts a local run: a `submit` whose input may leave out `operationId`. Gives the job record, which names the process; it was
   * on disk before the process did anything.
   */
  start(input: Record<string, unknown>, options?: CallOptions): Promise<Record<string, unknown>>
  /** The outcome of a local run that has ended, settled by this call if it was not; null while something of its tree lives. */
  settle(runId: string, options?: CallOptions): Promise<Record<string, unknown> | null>
  /**
   * Stops the whole tree of a local run. Once it has resolved the stop is on disk and the first signal is sent; `killAfterMs` later
   * a pass, or `waitForKill`, kills what is left.
   */
  kill(runId: string, input: { reason: string, killAfterMs?: number | undefined }, options?: CallOptions): Promise<Stopped>
  /**
   * Waits until the whole tree of a local run is gone: true then, false at the timeout. What a stop has left is killed when it is
   * due, and never because the wait is over.
   */
  waitForKill(runId: string, input: { timeoutMs: number }, options?: CallOptions): Promise<boolean>
  /** Whether the whole tree of a local run is provably gone. Reads, and signals nobody. */
  isGone(runId: string, options?: CallOptions): Promise<boolean>
  /** The public lines of a run behind the row `after`. */
  lines(runId: string, input?: { after?: string | null | undefined, limit?: number | undefined } | null, options?: CallOptions): Promise<{
    rows: { id: string | null, kind: 'line' | 'gap', text?: string, reason?: string }[], before: string | null, after: string | null
  }>

  /** What is recorded of the current run. Like all that follow it reads, takes no lock and calls nobody. */
  inspect(options?: CallOptions): Promise<Projection>
  /** What a run has come to, or null while it is not settled. */
  outcome(runId: string, options?: CallOptions): Promise<Outcome | null>
  /** How an intake turn stands, and what is next. */
  preparationStatus(runId: string, options?: CallOptions): Promise<{ status: 'preparing' | 'retrieved' | 'blocked', nextAction: 'reconcile' | 'cancel' | null }>
  /** Whether the output of an intake turn came in time. */
  judgePreparation(runId: string, options?: CallOptions): Promise<'timely' | 'late' | 'pending'>
  /** The job record of a run, or null. */
  read(runId: string, options?: CallOptions): Promise<Record<string, unknown> | null>
  /** The job record of the current local run, or null. */
  current(options?: CallOptions): Promise<Record<string, unknown> | null>
  /**
   * Whether a pass is due: the run's, its stop's, or because a stop is queued. One that is not calls nobody. That of a settled run stays
   * due (EX-REC-05), calls nobody and costs its locks: leave it out where `live` is false.
   */
  isDue(options?: CallOptions): Promise<boolean>
  /** What the boundary's health store has of its account, or null. */
  healthStatus(options?: CallOptions): Promise<HealthRecord | null>
  /** Walks the journal of a run and says what is whole, what is a gap and what is corrupt. */
  check(runId: string, options?: CallOptions): Promise<Record<string, unknown>>
  /** What may be shown of a run's result, redacted, or null. */
  resultView(runId: string, options?: CallOptions): Promise<unknown>
  /** What the provider can do, copied. */
  capabilities(): Capability
  /** Where the files of a run are, or would be. */
  dirOf(runId: string): string

  /** A call in raw steps, by the name of a method above. Its input is that method's, as one object. */
  machine(method: string, input?: object | RawJson | null): Machine
  /**
   * Drops the boundary: calls that run reject with `GALLIVANT_INPUT`, reason `closed`, their methods' signals fire, and what is
   * on disk is as after a crash. Resolves when the locks are released.
   */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** What a step has come to: a call that the host is to carry out, the outcome, or the error. */
export type Step =
  | {
    readonly kind: 'call', readonly id: number,
    readonly port: 'transport' | 'process' | 'git' | 'verification' | 'publisher' | 'coordinator', readonly method: string,
    readonly input: Record<string, unknown>, readonly inputJson: string, readonly deadlineAt: number,
    /** Fires when the call is over: at `deadline` and `abort`, when the machine is dropped, and when its boundary is closed. */
    readonly signal: AbortSignalOf,
  }
  | { readonly kind: 'done', readonly value: unknown, readonly json: string }
  | { readonly kind: 'failed', readonly error: GallivantError }

/**
 * A running call in raw steps, for a host with its own ways of reaching a provider, and for tests. Everything that has to be
 * durable before a call is so when its step is there. What is fed for a call that is not outstanding rejects with
 * `EXECUTION_INPUT`, reason `reply`, and changes nothing. A machine that is left in the middle keeps the task's lock: drop it.
 */
export class Machine {
  private constructor()
  readonly method: string
  /** The id of the outstanding call, or null. */
  readonly outstandingId: number | null
  /** Begins, and waits for the task's lock if need be. The signal ends that wait. */
  start(options?: { signal?: Signal | null | undefined }): Promise<Step>
  /** The call's method returned this: a value, or JSON text. At `deadlineAt` or later it counts as `deadline`. */
  reply(id: number, value: Reply): Promise<Step>
  /** The call's method failed. */
  fail(id: number, error: unknown): Promise<Step>
  /** The call has not ended at its deadline. */
  deadline(id: number): Promise<Step>
  /** The caller has given the call up. */
  abort(id: number, reason?: unknown): Promise<Step>
  /** The transport is about to send: from now on it cannot prove that nothing was sent. */
  sending(id: number): Promise<void>
  /** The caller has given the whole up: no receipt is issued any more. */
  giveUp(): void
  /** Drops it, which equals a crash where it stands. Resolves when its locks are released. */
  drop(): Promise<void>
}

/** Makes the boundary of a task. Creates no file and calls nobody. Throws `EXECUTION_INPUT` and `EXECUTION_DEPENDENCY`. */
export function makeExecution(options: ExecutionOptions): Execution
/**
 * The boundary of a root as its own files have it: its saved provider, account and transport kind, with record and transport
 * from the registry. What the options say of these counts only for a root in which nothing is saved.
 */
export function executionRunner(
  root: Path, options: Omit<ExecutionOptions, 'root' | 'registry' | 'capabilities'> & {
    registry: ExecutionRegistry, capabilities: Capability | RawJson, signal?: Signal | null | undefined
  },
): Promise<Execution>

/** An operation of which it is not known whether the provider owns it. */
export interface UnresolvedOperation extends Scope {
  operationId: string
  runId: string
  /** By which the provider knows it. */
  idempotencyKey: string
  intentAt: number
  remedy: string
}
/**
 * Lists those of one task's root, and none where no `execution.json` stands: a directory of many tasks has to be asked task by task.
 * Reads one file, takes no lock.
 */
export function unresolved(root: Path, options?: CallOptions & { host?: Host | null | undefined }): Promise<UnresolvedOperation[]>

/** What a check of the sandbox has shown. */
export interface SandboxEvidence {
  driver: string
  probe: { status: 'passed', startedAt: number, endedAt: number, checks: Record<string, string>, failure: null }
}
/**
 * Checks that results could be verified on this machine, and gives the evidence for your own records. Probes the sandbox in
 * throw-away directories below `scratch` (that of the system), runs no code of a repository and leaves nothing behind. `runtime` is
 * an installation that commands may read later, `runtimePrograms` the directory of its programs. Rejects with
 * `EXECUTION_VERIFICATION_SANDBOX` for whatever is not a proof; the remedy says what this system lacks.
 */
export function sandboxReadiness(options?: CallOptions & {
  host?: Host | null | undefined, scratch?: Path | null | undefined, runtime?: Path | null | undefined,
  runtimePrograms?: Path | null | undefined,
}): Promise<SandboxEvidence>

/** Refuses with `EXECUTION_DEPENDENCY` a runtime of another contract version, or without the shared intake service. */
export function assertExecutionDependency(runtime: { contractVersion?: number | undefined, intake?: unknown }): void
/** A file of a result, as a manifest has it: `beforeHash` null creates, `afterHash` and `text` null delete. */
export interface ManifestEntry { path: string, beforeHash: string | null, afterHash: string | null, text: string | null }
/** A path that Git tracks, its mode as six octal digits. */
export interface TrackedPath { path: string, mode: string }
/** What Git tracks. A list that could not be read whole is null. */
export interface TrackedTree { input: TrackedPath[] | null, head: TrackedPath[] | null, index: TrackedPath[] | null }
/**
 * The canonical entries of a result's files. Throws `EXECUTION_RESULT`, reason `result-validation`, for a list that is refused as a
 * whole, and `EXECUTION_IO`, reason `tree`, where nothing can be concluded (EX-ART-03).
 */
export function validateManifest(files: readonly ManifestEntry[] | RawJson, tree: TrackedTree | RawJson): { files: ManifestEntry[] }
/** What is found when a publication begins, or goes on (EX-SEA-16). */
export interface PublicationFacts {
  ownerMatches: boolean
  fingerprintMatches: boolean
  head: string | null
  inputHead: string | null
  appliedMatches: boolean
  clean: boolean
  evidenceComplete: boolean
  provenance: boolean
}
/** What a publication does next, by its checkpoint, null where there is none, and by what is found (EX-ART-39). */
export function publicationNext(
  checkpoint: { status: string, appliedHead?: string | null } | RawJson | null, facts: PublicationFacts | RawJson,
): { action: 'apply' | 'verify' | 'publish' | 'return' | 'block' | 'refuse', reason?: string }
/** Throws `EXECUTION_RESULT`, reason `result-validation`, for a raw text that may not be made public as it is (EX-ART-44). */
export function publicTextCheck(text: string): void
/** Whether a run is live, by its ledger metadata or by a raw job record. */
export function executionLive(value: object | RawJson): boolean
/** Whether an entry's start was never submitted, by its marker and the task's ledger, which may be null. */
export function unsubmittedInitialDispatch(entry: object | RawJson, ledger: object | RawJson | null): boolean
/** Whether a health record, or its absence, authorises a dispatch at this time. */
export function healthAuthorize(record: object | RawJson | null, now: number | RawJson): boolean
/** Whether a value may be a provider's cursor, and how many bytes it has. */
export function checkCursor(cursor: Json | RawJson): { valid: boolean, bytes: number }
/**
 * How many of these events, from the first on, one page may hold: at most `eventPageRecords`, and `eventPageBytes` as JSON. 0 says that the
 * first one alone is too long for any page: its data has to be shortened. What the events say is not judged.
 */
export function fittingEvents(events: readonly ProviderEvent[], limits?: Partial<Limits>): number
/** What a gap is called that comes with this next cursor. */
export function gapId(cursor: Json | RawJson): string
/** The key of an operation at its provider. */
export function idempotencyKey(operation: Scope & { runId: string, operationId: string }): string
/** The key of a run's stop. */
export function cancellationKey(run: Scope & { runId: string }): string
/** The run of an operation for which no run is named. */
export function runId(operation: Scope & { operationId: string }): string
/** The key by which an event is in a journal once. */
export function replayKey(event: { provider: string, providerJobId?: string | null, turnId?: string | null, eventId: string }): string
/** How long to wait after this many failures in a row, in milliseconds; `jitter` is from 0 to 1. */
export function backoff(after: { failures: number, jitter: number, retryAfterMs?: number | undefined, limits?: Partial<Limits> | undefined }): number
/** What an intake turn reserves. Throws `EXECUTION_ALLOWANCE` where nothing is left. */
export function intakeReservation(of: { budgetUsd: Amount, remaining: Amount }): Money
/** The CRC-32C of a text's UTF-8, as eight digits: what each line of a journal ends in. */
export function crc32c(text: string): string
