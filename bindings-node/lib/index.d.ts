/// <reference lib="esnext.disposable" />
/**
 * `gallivant`: one on-disk discipline for coordinators of coding agents.
 *
 * - What touches a disk returns a promise and has a twin whose name ends in `Sync`. A `Sync` call blocks its thread, for
 *   as long as the lock wait of its options where it has to wait for a lock.
 * - The asynchronous calls of one writer (and of one session, which shares its writer's order) are made in the order in
 *   which they were begun. Waiting for a lock holds neither the event loop nor a worker of libuv's pool.
 * - A call that has its own `signal` runs nothing when the signal has already fired. Fired while the call waits, it
 *   rejects with the signal's reason, and nothing was written. A call that is past the lock is finished and answers
 *   what it did.
 * - A watch is an asynchronous iterator that keeps the process alive while it is open, as a server does.
 * - 64-bit numbers come as `bigint`. Where one is handed in, a `number` that is a safe integer is taken too.
 * - Times of day are milliseconds since 1970 on the wall clock.
 * - A refusal by the rules is an answer. Errors are {@link GallivantError}, and nothing else is thrown.
 */

import type { ProcessIdentity } from './reading.js'

export * from './reading.js'
export * from './fleets.js'
export * from './creates.js'

/** An unsigned 64-bit number: always a bigint when it comes out. */
export type Unsigned = bigint | number

/** A path, or a `file:` URL. */
export type Path = string | { readonly href: string }

/** As much of an AbortSignal as is used, so that neither the DOM's nor Node's types are needed. */
export interface Signal {
  readonly aborted: boolean
  readonly reason?: any
  addEventListener(type: 'abort', listener: () => void, options?: { once?: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** Options of a call on something that is already open. */
export interface CallOptions {
  /** Ends the call's waiting. See the page's top for what is true on disk then. */
  signal?: Signal | null | undefined
}

/** The machine: the real one where it is left out. A `TestHost` of `gallivant/testing` has others. */
export interface Host {
  readonly __host: unique symbol
}

/** What may be set. What is left out agrees with existing deployments; {@link defaultOptions} tells it. */
export interface Options {
  /** The schema to write, compared whole. */
  schema?: string | null | undefined
  /** Further schemas to accept when reading. */
  alsoAcceptedSchemas?: readonly string[] | null | undefined
  /** From this age on a record tells nothing, in milliseconds. 15 minutes. */
  staleMs?: Unsigned | null | undefined
  /** From this age on an unchanged observation is stamped again, in milliseconds. 5 minutes. */
  refreshMs?: Unsigned | null | undefined
  /** A stamp further ahead than this is not believed, in milliseconds. 60 seconds. */
  futureSkewMs?: Unsigned | null | undefined
  /** How long a call waits for the lock, from its beginning, in milliseconds. 10 seconds. */
  lockWaitMs?: Unsigned | null | undefined
  /** Tokens with one of these prefixes may claim, and be claimed from, without a wrapper. */
  wrapperlessPrefixes?: readonly string[] | null | undefined
  /** Whether records carry the extension object and are judged by it. True. */
  extension?: boolean | null | undefined
  /** A probe that takes longer than this, in milliseconds, has answered nothing. 100. */
  probeBudgetMs?: Unsigned | null | undefined
  /** The machine to work on. */
  host?: Host | null | undefined
}

/** The options with which nothing is set. */
export interface DefaultOptions {
  schema: string
  alsoAcceptedSchemas: string[]
  staleMs: bigint
  refreshMs: bigint
  futureSkewMs: bigint
  lockWaitMs: bigint
  wrapperlessPrefixes: string[]
  extension: boolean
  probeBudgetMs: bigint
}

/** What the harness is doing. `unknown` is derived by readers and never observed; `child` is read and not produced. */
export type State = 'ready' | 'idle' | 'active' | 'child' | 'ended' | 'unknown'
/** Whom it waits for. */
export type BlockedOn = 'none' | 'human' | 'unknown'
/** Whether text waits in its input line. */
export type InputBuffer = 'empty' | 'nonempty' | 'unknown'
/** What a person is asked for. */
export type Ask = 'none' | 'permission' | 'question' | 'review' | 'unknown'

/** What a writer sees. A live state needs a writer with a pty session; an ask needs `blockedOn: 'human'`. */
export interface Observation {
  /** What the harness is doing. */
  state: Exclude<State, 'unknown'>
  /** Whom it waits for; left out: `none`. */
  blockedOn?: BlockedOn | null | undefined
  /** Whether text waits in its input line; left out: `unknown`. */
  inputBuffer?: InputBuffer | null | undefined
  /** What a person is asked for; left out: `none`. */
  ask?: Exclude<Ask, 'unknown'> | null | undefined
  /** Why, in the writer's words. Empty differs from none. */
  reason?: string | null | undefined
  /** How it ended, e.g. `exit 0` or `signal 9`. */
  exit?: string | null | undefined
}

/** Why an observation was refused. More may come. */
export type Refusal =
  | 'unreadable' | 'unclaimed' | 'superseded' | 'schema' | 'terminal' | 'late' | 'weaker-evidence'
  | 'foreign-descendant' | 'identity-missing'
  | (string & {})

/** Why a heartbeat was skipped. More may come. */
export type Skip =
  | 'absent' | 'unreadable' | 'schema' | 'foreign-token' | 'unknown-state' | 'ended' | 'superseded'
  | (string & {})

/** What an observation did. */
export interface Report {
  /** `landed`: every reader sees it. `coalesced`: it stands already and is fresh. `refused`: nothing was written. */
  outcome: 'landed' | 'coalesced' | 'refused'
  /** Why it was refused, else null. */
  refusal: Refusal | null
  /** The sequence floor should have been raised after the record and could not be. The record stands. */
  floorFailure: GallivantError | null
}

/** What a heartbeat did. */
export interface HeartbeatReport {
  outcome: 'landed' | 'skipped'
  /** Why it was skipped, else null. */
  skip: Skip | null
  /** As in {@link Report}. */
  floorFailure: GallivantError | null
}

/** What {@link Session.heartbeatIfDue} did. */
export type Tick =
  | { outcome: 'not-due', dueAtMs: bigint, skip: null }
  | { outcome: 'renewed', dueAtMs: null, skip: null }
  | { outcome: 'skipped', dueAtMs: null, skip: Skip }
  | { outcome: 'harness-gone', dueAtMs: null, skip: null }

/** Who claims. */
export interface Claimant {
  agent: string
  harness: string
  token: string
}

/** A claim that has landed: record and floor are on disk and durable, except where it says otherwise. */
export interface Claim {
  /** The session's ownership sequence, which its writers adopt. */
  sequence: bigint
  /** The floor could not be raised. The claim stands; the record alone carries its sequence. */
  floorFailure: GallivantError | null
  /** Something stood in the floor's place that was no number, and what was wrong with it. */
  floorDamage: string | null
  /** The sibling record could not be removed: the new session may be shown the old one's context. */
  contextFailure: GallivantError | null
  /** How many abandoned staged files were removed. */
  swept: number
}

/**
 * Takes the seat in an agent's directory, whatever stands there, and creates the directory where it is missing. Not
 * idempotent: the same token claiming twice gets two sequences. Durable once it has returned.
 *
 * Throws `HARNESS_STATE_EMPTY_TOKEN`, `_INPUT` (reasons `path`, `too-large`), `_SEQUENCE_EXHAUSTED`, `_BUSY`, `_LOCKING`,
 * `_IO`; nothing was written then, except that after a failed sync of the directory the placeholder may stand.
 */
export function claim(directory: Path, claimant: Claimant, options?: Options & CallOptions): Promise<Claim>
/** {@link claim} on this thread. */
export function claimSync(directory: Path, claimant: Claimant, options?: Options & CallOptions): Claim

/**
 * Takes the seat for a session that no wrapper launched, if it is free for one; null where it is not. The token has to
 * carry a wrapperless prefix (`HARNESS_STATE_BAD_TOKEN`). Else as {@link claim}.
 */
export function claimWrapperless(
  directory: Path, claimant: Claimant, options?: Options & CallOptions,
): Promise<Claim | null>
/** {@link claimWrapperless} on this thread. */
export function claimWrapperlessSync(
  directory: Path, claimant: Claimant, options?: Options & CallOptions,
): Claim | null

/** Who writes. */
export interface WriterIdentity {
  agent: string
  harness: string
  /** The session's token, shared by all its writers. Never empty. */
  token: string
  /** The pty session in which the harness runs; without one no live state can be written. The empty string is one. */
  ptySession?: string | null | undefined
}

/**
 * By what a writer knows what it observes: a hook of the harness, a channel that it offers, the wrapper that drives it, or
 * what stands on its screen. A screen gives way to what hooks and channels have told, while that is fresh.
 */
export type Evidence = 'hook' | 'channel' | 'wrapper' | 'screen'

/** What became of a child of a session. */
export type ChildStep = 'started' | 'working' | 'stopped'

/** One session's voice in one agent's directory. */
export class Writer {
  /**
   * Opens a writer on a directory that need not exist yet. Touches no file. With the `sequence` of a claim it adopts
   * that claim; without one it is token-only. Without `evidence` it knows what it observes as a wrapper does. Throws
   * `HARNESS_STATE_EMPTY_TOKEN`, and `HARNESS_STATE_INPUT` with reason `path` for the empty path and `word` for no evidence.
   */
  constructor(
    directory: Path,
    identity: WriterIdentity & { sequence?: Unsigned | null | undefined, evidence?: Evidence | null | undefined },
    options?: Options,
  )
  /** The agent's directory, from the root. */
  readonly directory: string
  /** Who writes. */
  readonly identity: Readonly<{ agent: string, harness: string, token: string, ptySession: string | null }>
  /** The sequence that was adopted or resolved; null before a token-only writer's first accepted call. */
  readonly sequence: bigint | null

  /**
   * Records what is seen. An ending with an exit is durable once it has landed; anything else may be lost with the
   * machine's power.
   *
   * Throws, before anything is touched, `HARNESS_STATE_UNKNOWN_STATE`, `_UNFENCED`, `_UNKNOWN_ASK`, `_ASK_WITHOUT_HUMAN`,
   * `_RESERVED_REASON`; with nothing written `_INPUT` with reason `too-large` for what could not be read again, `_BUSY`,
   * `_LOCKING`, `_IO`, except that after a failed sync, and after a failed attempt to give a stranger's file its name
   * back, the record may stand.
   */
  observe(observation: Observation, options?: CallOptions): Promise<Report>
  observeSync(observation: Observation): Report

  /** {@link observe}, unless the session's own ending with an exit stands: then the answer is refused as `terminal`. */
  observeUnlessEnded(observation: Observation, options?: CallOptions): Promise<Report>
  observeUnlessEndedSync(observation: Observation): Report

  /**
   * Records the end with this exit. A repeat coalesces, another exit replaces. Durable with an exit. A plain
   * {@link observe} may follow and lands.
   */
  ended(exit?: string | null, options?: CallOptions): Promise<Report>
  endedSync(exit?: string | null): Report

  /**
   * Notes what became of a child of the session's, such as a subagent, by an id of 1 to 128 bytes. The turn stays as it is;
   * a reader that finds it over while children run answers `active` with reason `children`. Not durable. Where the session
   * has observed nothing or has ended, and with the extension switched off, there is nothing to note. Throws as
   * {@link observe}, and `HARNESS_STATE_INPUT` with reason `word` for a step that there is not.
   */
  noteChild(id: string, step: ChildStep, options?: CallOptions): Promise<Report>
  noteChildSync(id: string, step: ChildStep): Report

  /** Makes the next landed observation a transition even if it says what stands. Touches no file. */
  interrupt(): void

  /** Renews the stamp of the session's live record, whoever of the session wrote it. Not durable. */
  heartbeat(options?: CallOptions): Promise<HeartbeatReport>
  heartbeatSync(): HeartbeatReport

  /**
   * Takes the record's lock while schema, token and sequence are this session's; null where they are not. Release it
   * soon: every writer of the seat waits meanwhile, this one too.
   */
  lockCurrentOwnership(options?: CallOptions): Promise<OwnershipGuard | null>
  lockCurrentOwnershipSync(): OwnershipGuard | null

  /**
   * Runs `action` under the record's lock while the session owns the seat, and releases the lock when it has returned,
   * resolved or thrown. Calls of a writer on this seat from inside `action` wait for that very lock, in vain.
   */
  withCurrentOwnership<T>(
    action: (guard: OwnershipGuard) => T | PromiseLike<T>, options?: CallOptions,
  ): Promise<Owned<Awaited<T>>>
  withCurrentOwnershipSync<T>(action: (guard: OwnershipGuard) => T): Owned<T>
}

/** What came of an action that needs ownership. Without ownership it did not run. */
export type Owned<T> = { owned: true, value: T } | { owned: false, value: undefined }

/** Holds the record's lock until it is released. */
export interface OwnershipGuard extends Disposable {
  /** The sequence that was found to be the session's. Throws `GALLIVANT_INPUT` with reason `closed` after release. */
  readonly sequence: bigint
  /** Releases the lock. A second time does nothing. */
  release(): void
}

/** What a session is started with. */
export interface SessionStart {
  agent: string
  harness: string
  /**
   * The pty session in which the harness will run, such as that of a terminal multiplexer, or the agent's own name where
   * there is none; without one no live state can be written.
   */
  ptySession?: string | null | undefined
  /** The token to claim with; left out: one is minted. */
  token?: string | null | undefined
}

/**
 * A claimed session, for wrappers. It lives until `end` or `close`, the end of its process or worker, or the process's
 * death; garbage collection does not end it. Closing without `end` releases the lease and writes nothing, exactly as
 * death does: a reader with the `lease` probe then says `session-dead`.
 */
export class Session implements Disposable, AsyncDisposable {
  private constructor()
  /**
   * Mints a token unless one is given, claims the seat, and takes the lease. Claim and floor are durable once it has
   * returned. Throws as {@link claim}, and `HARNESS_STATE_INPUT` with reason `path` for a directory that the environment
   * cannot hand over.
   */
  static start(directory: Path, start: SessionStart, options?: Options & CallOptions): Promise<Session>
  static startSync(directory: Path, start: SessionStart, options?: Options & CallOptions): Session
  /** The session's writer, which has adopted the claim. */
  readonly writer: Writer
  /** The claim with which the session started. */
  readonly claim: Readonly<Claim>
  /** Whether the session holds its lease. Not while a superseded session that still lives holds it. */
  readonly holdsLease: boolean
  /** The process that was attached. */
  readonly harnessProcess: ProcessIdentity | null
  /** Whether it was closed. */
  readonly closed: boolean
  /** What to hand to the harness and its hooks. */
  environment(): SessionEnvironment
  /** The same as variables: `{ ...process.env, ...session.toEnv() }`. */
  toEnv(): Record<string, string>
  /**
   * Names the harness process, and records `ready` if nothing was observed since the claim and the session names a pty
   * session. Throws `HARNESS_STATE_INPUT` with reason `no-such-process`, and as {@link Writer.observe}.
   */
  attach(pid: number, options?: CallOptions): Promise<ProcessIdentity>
  attachSync(pid: number): ProcessIdentity
  /**
   * Renews the stamp when that is due. Call it as often as is convenient, once a second, say: between two due times it
   * writes nothing, and looks only whether the attached harness still runs and whether another session has claimed. It also
   * asks again for a lease that could not be had.
   *
   * Once another session has claimed the seat it gives the lease up and answers `skipped` for good, with the skip
   * `superseded` (`foreign-token` where only the record tells): then end the harness, because nothing that it does is seen
   * any more. Throws as {@link Writer.heartbeat}.
   */
  heartbeatIfDue(options?: CallOptions): Promise<Tick>
  heartbeatIfDueSync(): Tick
  /**
   * Ends the session with this exit and releases the lease. Durable with an exit. The session's writer can still observe,
   * and a plain {@link Writer.observe} lands over the ending; what does not know better than the wrapper uses
   * {@link Writer.observeUnlessEnded}. Throws as {@link Writer.ended}.
   */
  end(exit?: string | null, options?: CallOptions): Promise<Report>
  endSync(exit?: string | null): Report
  /** Releases the lease and writes nothing. Calls under way keep it until they are done. A second time does nothing. */
  close(): void
  /** {@link close}. */
  [Symbol.dispose](): void
  /** Waits for the calls under way, then {@link close}. */
  [Symbol.asyncDispose](): Promise<void>
}

/** What a claimer hands to its siblings: enough to open a writer that adopts the claim. */
export class SessionEnvironment {
  constructor(parts: {
    agentDir: Path
    agent: string
    harness: string
    token: string
    ptySession?: string | null | undefined
    sequence?: Unsigned | null | undefined
  })
  /**
   * The session that these variables name, else those of this process; null where directory, agent, harness or token is
   * missing or empty. Throws `HARNESS_STATE_INPUT` with reason `environment` when the sequence is no number.
   */
  static fromEnv(variables?: Readonly<Record<string, string | undefined>>): SessionEnvironment | null
  /** The variables to set; those without a value are left out. */
  toEnv(): Record<string, string>
  /** A writer that adopts the claim. Touches no file. */
  writer(options?: Options): Writer
  readonly agentDir: string
  readonly agent: string
  readonly harness: string
  readonly token: string
  readonly ptySession: string | null
  readonly sequence: bigint | null
}

/** The names of the variables, for programs that clear them before they start something of their own. */
export const SESSION_VARIABLES: readonly string[]

/** What one hook call did. */
export interface HookReport {
  /** The event's name, as far as the payload could be read. */
  event: string | null
  /** The answer in one stable word: an outcome's, a refusal's, an ignored event's, or an error's code. */
  word: string
  /** `observed`: `report` is the writer's answer. `ignored`: it is no observation. `failed`: `error` says why. */
  kind: 'observed' | 'ignored' | 'failed'
  report: Report | null
  error: GallivantError | null
  /** Something in the payload was no Unicode and was replaced. */
  lossy: boolean
}

/** Options of a hook call. */
export interface HookOptions extends Options, CallOptions {
  /** For whom the event speaks; null for nobody. Left out: what the variables say. */
  session?: Session | SessionEnvironment | null | undefined
  /** Variables to look for the session in; left out: this process's own. */
  environ?: Readonly<Record<string, string | undefined>> | null | undefined
}

/** A harness whose events are understood. More may come. */
export type HarnessName = 'claude' | 'claude-code' | 'codex' | 'opencode' | 'gemini' | 'gemini-cli' | (string & {})

/**
 * Observes one event of a harness, whose `payload` is what the harness handed over, byte for byte. Waits for the lock for
 * a quarter of a second at most. What goes wrong, variables that make no sense included, is in the report and, as far as
 * a directory is known, in `.harness-state.log` beside the record; only a wrong argument throws (`HARNESS_STATE_INPUT` with reason `unknown-harness`, `GALLIVANT_INPUT`). Events of one
 * directory are observed in the order in which they were handed over.
 */
export function observeHook(
  harness: HarnessName, payload: string | ArrayBufferView | ArrayBuffer, options?: HookOptions,
): Promise<HookReport>
/** {@link observeHook} on this thread, for a hook process. */
export function observeHookSync(
  harness: HarnessName, payload: string | ArrayBufferView | ArrayBuffer, options?: HookOptions,
): HookReport

/** Mints a session token. Touches no file. */
export function mintToken(options?: { host?: Host | null | undefined }): string

/** The identity of a process that runs now; null when there is none or it cannot be read. */
export function identifyProcess(pid: number, options?: { host?: Host | null | undefined }): ProcessIdentity | null

/** The options with which nothing is set. */
export function defaultOptions(): DefaultOptions

/** The version of the library, which is that of all its packages. */
export const version: string

/** What a caller does about an error. */
export type ErrorKind =
  | 'input' | 'refused' | 'busy' | 'unresolved' | 'corrupt' | 'incompatible' | 'unavailable' | 'internal'

/** What happened. A code never changes its meaning. */
export type ErrorCode =
  | 'GALLIVANT_INPUT'
  | 'GALLIVANT_INTERNAL'
  | 'GALLIVANT_HANDLE_BUSY'
  | 'GALLIVANT_CANCELLED'
  | 'HARNESS_STATE_UNKNOWN_STATE'
  | 'HARNESS_STATE_UNFENCED'
  | 'HARNESS_STATE_UNKNOWN_ASK'
  | 'HARNESS_STATE_ASK_WITHOUT_HUMAN'
  | 'HARNESS_STATE_RESERVED_REASON'
  | 'HARNESS_STATE_EMPTY_TOKEN'
  | 'HARNESS_STATE_BAD_TOKEN'
  | 'HARNESS_STATE_SEQUENCE_EXHAUSTED'
  | 'HARNESS_STATE_BUSY'
  | 'HARNESS_STATE_LOCKING'
  | 'HARNESS_STATE_IO'
  | 'HARNESS_STATE_INPUT'
  | 'EXECUTION_INPUT'
  | 'EXECUTION_PROTOCOL'
  | 'EXECUTION_IO'
  | 'EXECUTION_JOURNAL'
  | 'EXECUTION_VERSION'
  | 'EXECUTION_QUEUE'
  | 'EXECUTION_UNKNOWN_RUN'
  | 'EXECUTION_DEPENDENCY'
  | 'EXECUTION_RESULT'
  | 'EXECUTION_PUBLICATION_BUSY'
  | 'EXECUTION_VERIFICATION_SANDBOX'
  | 'EXECUTION_DISPATCH_REFUSED'
  | 'EXECUTION_ACCEPTANCE_UNKNOWN'
  | 'EXECUTION_UNRESOLVED'
  | 'EXECUTION_ACTIVE'
  | 'EXECUTION_CONFLICT'
  | 'EXECUTION_FENCED'
  | 'EXECUTION_CAPABILITY'
  | 'EXECUTION_PREPARATION'
  | 'EXECUTION_ALLOWANCE'
  | 'EXECUTION_HEALTH'
  | 'EXECUTION_OWNERSHIP'
  | 'EXECUTION_BUSY'
  | 'EXECUTION_DEADLINE'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'IDEMPOTENCY_KEY_INVALID'
  | 'IDEMPOTENCY_SCOPE_INVALID'
  | 'IDEMPOTENCY_IN_PROGRESS'
  | 'IDEMPOTENCY_CLAIM_LOST'
  | 'IDEMPOTENCY_ANSWER_TOO_LARGE'
  | 'IDEMPOTENCY_STORE_UNAVAILABLE'
  | 'IDEMPOTENCY_STORE_UNSUPPORTED'
  | 'IDEMPOTENCY_STORE_CORRUPT'
  | 'IDEMPOTENCY_STORE_VERSION'
  | 'IDEMPOTENCY_BUSY'
  | 'IDEMPOTENCY_FORKED'
  | 'IDEMPOTENCY_INPUT'

/** The one error class. Its message is for people and may change. */
export class GallivantError extends Error {
  private constructor()
  readonly name: 'GallivantError'
  /** What happened. */
  readonly code: ErrorCode
  /** What a caller does about it. */
  readonly kind: ErrorKind
  /** A stable word that refines the code, else null. */
  readonly reason: string | null
  /** One sentence that an operator can act on. */
  readonly remedy: string
  /** The operating system's error number, where a system call failed, else null. */
  readonly osError: number | null
  /** The file that an operator has to look at, where the error is about one, else null. */
  readonly file: string | null
  /** What somebody else has made, where the error is about that, else null. */
  readonly resource: string | null
  /** The run that the error is about, where it is about one, else null. */
  readonly runId: string | null
  /** The operation that the error is about, where it is about one, else null. */
  readonly operationId: string | null
}

/** Every code with its number, kind, remedy and documentation page, in the order of the numbers. */
export function errorTable(): {
  code: ErrorCode, number: number, kind: ErrorKind, remedy: string, page: string
}[]
