/** Reading one agent's record, and why it says what it says. A part of `index.d.ts`. */

import type {
  Ask, BlockedOn, CallOptions, Evidence, InputBuffer, Options, Path, Session, State, Unsigned,
} from './index.js'

/** What can be proved about a session. */
export type Liveness = 'alive' | 'dead' | 'indeterminate'

/** Names one process for ever. */
export interface ProcessIdentity {
  pid: number
  /** Start time in the unit of the system's process table. */
  start: bigint
  boot: string
  pidNamespace: string
  host: string
}

/** An answer of a probe. `true` is `alive`, `false` is `dead`; null, undefined and anything else is `indeterminate`. */
export type ProbeAnswer = Liveness | boolean | null | undefined | void

/**
 * Says whether the session behind a live record still lives. It is asked only where its answer decides, and only
 * `dead` makes a difference.
 *
 * - `'lease'`: the lease that a {@link Session} holds for its life;
 * - a fixed answer, for tests;
 * - a process;
 * - a function of yours. One that throws, rejects, or takes longer than `probeBudgetMs` has answered `indeterminate`.
 */
export type Probe = 'lease' | Liveness | ProcessIdentity | ((record: Readonly<StateRecord>) => ProbeAnswer)
/** A {@link Probe} that may also answer later. */
export type AsyncProbe = Probe | ((record: Readonly<StateRecord>) => ProbeAnswer | PromiseLike<ProbeAnswer>)

/** What may be concluded. For an unknown state all four axes are unknown, and `sinceMs` and `exit` are null. */
export interface HarnessState {
  state: State
  blockedOn: BlockedOn
  inputBuffer: InputBuffer
  ask: Ask
  /** Evidence: the harness's name. */
  harness: string | null
  /** Since when the observation holds. */
  sinceMs: bigint | null
  /** Evidence: the record's stamp. */
  observedAtMs: bigint | null
  /** Evidence: the record's ownership sequence. */
  ownershipSequence: bigint | null
  /** Evidence: how often the observation has changed. */
  transitionSequence: bigint | null
  /** Evidence: the token of the session that wrote it. */
  evidenceIncarnation: string | null
  /** How it ended. */
  exit: string | null
  /** The writer's reason for a known state; for an unknown one why it is not known. */
  reason: string | null
  /** The instant at which this answer next changes by time alone; null where time alone changes nothing. */
  validUntilMs: bigint | null
}

/** A record as it stands on disk, by the names and with the spelling that it has there. */
export interface StateRecord {
  schema: string
  agent: string
  harness: string
  state: string
  blockedOn: string
  inputBuffer: string
  ask: string
  reason: string | null
  exit: string | null
  ptySession: string | null
  incarnation: string
  seq: bigint
  sinceMs: bigint
  writtenAtMs: bigint
  transitions: bigint
  /** What writers that know the extension added; null in records of others. */
  extension: Readonly<Extension> | null
}

/** What our writers add to a record. */
export interface Extension {
  /** The boot in which the stamp was taken; empty where the system does not tell. */
  bootId: string
  /** The stamp on the clock that counts the machine's sleep, in milliseconds since boot. */
  bootMs: bigint
  /** The stamp on the clock that does not. */
  awakeMs: bigint
  /** The machine on which the stamp was taken; empty where the system does not tell. */
  host: string
  /** When what stands there happened, on the clock of `bootMs`: for a hook, when its process started. */
  eventMs: bigint | null
  /** By what it is known, as it is spelled there. */
  evidence: Evidence | (string & {}) | null
  /** The ids of the children that run, in the order in which they were first heard of. */
  children: readonly string[]
  /** How many events came too late to be written. */
  late: bigint
  /** The harness's process, where a session attached it. Boot and host are those of the extension. */
  process: Readonly<{ pid: number, start: bigint, pidNamespace: string }> | null
}

/** One row of the reading table, tried. */
export interface TriedRow {
  /** The clause of the specification that the row is. */
  readonly clause: string
  /** What it asks of the evidence, as a statement. */
  readonly question: string
  /** Whether the evidence is so; then the row decides. */
  readonly matched: boolean
}

/** Why a reader concludes what it does. As a string it is some lines for a person. */
export interface Explanation {
  /** The conclusion; null when nothing was ever observed. */
  readonly state: State | null
  readonly reason: string | null
  /** The clause of the row that decided. */
  readonly clause: string
  readonly validUntilMs: bigint | null
  /** The instant for which it was concluded, on every clock of the machine. */
  readonly clock: Readonly<{
    wallMs: bigint, bootId: string | null, bootMs: bigint | null, awakeMs: bigint | null, host: string | null,
  }>
  /** How old the record's stamp is by the wall clock. */
  readonly ageMs: bigint | null
  /** The rows in the order in which they were tried. The last one decided. */
  readonly rows: readonly TriedRow[]
  /** The record, where one was read and decoded, without its token. */
  readonly record: Readonly<Omit<StateRecord, 'incarnation'>> | null
  /** Why there is no record although something stands there. */
  readonly damage: string | null
  /** The same as one JSON object, with every digit of its numbers. */
  readonly json: string
  /** Some lines for a person: the conclusion, the rows, the record's age. */
  toString(): string
}

/** What was found at one moment. Nothing here reads the disk again. */
export interface Snapshot {
  /** The record, or null where none was read and decoded. */
  readonly record: Readonly<StateRecord> | null
  /** Why there is no record although something stands there: one line for people. */
  readonly damage: string | null
  /** When it was taken. */
  readonly takenAtMs: bigint
  /** Whether a probe's answer can make a difference at `nowMs`, else at the time of the snapshot. */
  wantsProbe(nowMs?: Unsigned | null): boolean
  /** What may be concluded at `nowMs`, else at the time of the snapshot, with this answer of a probe, or without one. */
  derive(options?: { probe?: Liveness | null | undefined, nowMs?: Unsigned | null | undefined }): HarnessState | null
  /** As {@link derive}, and which row of the table decided. */
  explain(options?: { probe?: Liveness | null | undefined, nowMs?: Unsigned | null | undefined }): Explanation
}

/** Reads one agent's record. Takes no lock and creates nothing. */
export class Reader {
  /**
   * A reader on an agent's directory, or on the record's own path, which need not exist yet. Touches no file. Throws
   * `HARNESS_STATE_INPUT` with reason `path` for the empty path.
   */
  constructor(path: Path, options?: Options)
  /** The path, from the root. */
  readonly path: string
  /** What may be concluded now; null when nothing was ever observed. What cannot be read is unknown, not an error. */
  read(options?: CallOptions & { probe?: AsyncProbe | null | undefined }): Promise<HarnessState | null>
  readSync(options?: CallOptions & { probe?: Probe | null | undefined }): HarnessState | null
  /** What stands there, for deriving later and for looking at the record itself. */
  snapshot(options?: CallOptions): Promise<Snapshot>
  snapshotSync(): Snapshot
  /** As {@link read}, and which row of the table decided. */
  explain(options?: CallOptions & { probe?: AsyncProbe | null | undefined }): Promise<Explanation>
  explainSync(options?: CallOptions & { probe?: Probe | null | undefined }): Explanation
}
