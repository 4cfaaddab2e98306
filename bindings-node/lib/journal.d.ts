/// <reference lib="esnext.disposable" />
/**
 * The journal of a run: what its provider said, each event once, in an order that never changes; its public lines; frames
 * of them for a user interface or a browser; and what the run came to. The rules are the section EX-JRN of the project's
 * `docs/spec/execution.md`, the bytes `docs/format/journal.md` and `docs/format/projection.md`.
 *
 * - A run's directory exists before; nothing here makes it.
 * - Who writes, a {@link Journal} or a {@link Projection}, holds the lock that guards the run for as long as a call lasts.
 *   Neither takes one. Readers need none.
 * - The rest is as the page of `gallivant` has it: promises with twins in `Sync`, `signal`, bigints, `GallivantError`. The
 *   calls of one journal, and of one projection, are made in the order in which they were begun.
 */

import type { CallOptions, GallivantError, Host, Path, Signal, Unsigned } from './index.js'
import type { Redactor } from './redaction.js'

/** What a call that stands alone may be given. */
export interface JournalOptions extends CallOptions {
  /** The machine to work on. */
  host?: Host | null | undefined
}

/** Whose journal it is. All of it is compared exactly, and none of it is redacted. */
export interface Owner {
  taskId: string
  /** The run, which has a directory of its own. */
  runId: string
  /** The provider, by its public name. */
  provider: string
  /** The provider's job, where it has one. */
  jobId?: string | null | undefined
  /** The provider's root turn, where there is one. */
  turnId?: string | null | undefined
}

/** Who says what a record holds. */
export type Provenance = 'provider' | 'local' | 'boundary'

/** Why something is missing. */
export type GapReason =
  | 'provider-gap' | 'interrupted-append' | 'oversized-record' | 'corrupt-record' | 'local-output-missing'
  | 'local-output-truncated' | 'local-output-expired' | 'redaction-missing' | 'index-missing' | 'retained'

/** What every event of a page has. */
export interface EventBase {
  /** The provider's event id, a gap id or a byte id. Not empty. Told again under the same id, it is in the journal once. */
  id: string
  /** Who says it. */
  provenance: Provenance
  /** The provider's number, an integer from 0. As a bigint it keeps all its digits, however many. */
  providerSequence?: bigint | number | null | undefined
  /** When it happened, in milliseconds since 1970; left out: when the journal takes it in. */
  timestamp?: bigint | number | null | undefined
}

/** Something that was said. */
export interface SaidEvent extends EventBase {
  /** What happened. Not empty. */
  type: string
  /** What `JSON.stringify` takes, and bigints. Left out: null. */
  data?: unknown
  /** The data as a JSON text instead: every number keeps its digits as they are written there. */
  dataJson?: string | undefined
  reason?: undefined
}

/** Something that is missing. */
export interface GapEvent extends EventBase {
  /** Why. */
  reason: GapReason
  type?: undefined
  data?: undefined
  dataJson?: undefined
}

/** One event of a page, unredacted. */
export type JournalEvent = SaidEvent | GapEvent

/** A place between two records. */
export interface Position {
  /** Bytes of `events.jsonl` before it. */
  offset: bigint
  /** The number of the last record before it; 0 where there is none. */
  sequence: bigint
}

/** Where an event of a page stands. */
export interface Placed {
  /** Its number in the journal. */
  sequence: bigint
  /** `recorded`: by a new record. `oversized`: a gap stands for it, its record would be too long. `known`: it was there. */
  how: 'recorded' | 'oversized' | 'known'
}

/** What an append has come to. */
export interface Appended {
  /** Where each event of the page stands, in the page's order. */
  placed: Placed[]
  /** The end of the journal, all of it acknowledged. */
  end: Position
}

/** What a recovery found and did. */
export interface Recovered {
  /** How many records of a pending batch were there and are acknowledged now. */
  kept: bigint
  /** Whether a gap took the place of the first one that was not. */
  gap: boolean
  end: Position
}

/** The journal of one run, for its one writer. */
export class Journal {
  private constructor()
  /**
   * The journal in a run's directory. Nothing of it is read before the first call that needs it. Ids, types and data of
   * events are redacted before any byte of them is written. Rejects with `EXECUTION_UNKNOWN_RUN` where there is no such
   * directory, and with `EXECUTION_IO`.
   */
  static open(directory: Path, owner: Owner, redactor: Redactor, options?: JournalOptions): Promise<Journal>
  static openSync(directory: Path, owner: Owner, redactor: Redactor, options?: JournalOptions): Journal
  /** From the root. */
  readonly directory: string
  readonly owner: Readonly<Owner>
  /**
   * Appends the events of a page that are not in the journal yet, each once, in the page's order. Then every event of the
   * page is readable, or a gap stands for it, durably, and a repetition of the page adds nothing. What a crash left pending
   * is recovered first.
   *
   * A page may also be the text of a JSON array of such events, without `dataJson`: every number keeps its digits as they
   * are written there.
   *
   * Rejects with `EXECUTION_INPUT` for an event that no record can hold: nothing was written. With `EXECUTION_JOURNAL` and
   * `EXECUTION_VERSION` for a journal that is damaged: its files are as they were. With `EXECUTION_IO`: repeating the page
   * appends what is missing.
   */
  append(page: Iterable<JournalEvent> | string, options?: CallOptions): Promise<Appended>
  appendSync(page: Iterable<JournalEvent> | string): Appended
  /** Finishes a batch that a crash left pending. Rejects as `append`. */
  recover(options?: CallOptions): Promise<Recovered>
  recoverSync(): Recovered
  /** Lets go of its files, after the calls that were begun. Nothing is lost by it. */
  close(): Promise<void>
  closeSync(): void
  [Symbol.dispose](): void
  [Symbol.asyncDispose](): Promise<void>
}

/** What a projection holds. */
export interface Projected {
  /** The oldest number that it has an entry for. Above 1 where older ones were trimmed. */
  first: bigint
  /** The number of the entry that comes next. */
  next: bigint
  /** Bytes of `job.log`. */
  bytes: bigint
}

/** The writer of one run's public lines: they are made from the journal, and can be made again. */
export class Projection {
  private constructor()
  /** Rejects as {@link Journal.open}. */
  static open(directory: Path, options?: JournalOptions): Promise<Projection>
  static openSync(directory: Path, options?: JournalOptions): Projection
  readonly directory: string
  /** Writes a line for each record that has none yet, durably. Where nothing is new, nothing is written. */
  catchUp(options?: CallOptions): Promise<Projected>
  catchUpSync(): Projected
  /** Drops whole old lines so that at most this many bytes of `job.log` stay. The journal is not touched. */
  trim(keepBytes: Unsigned, options?: CallOptions): Promise<Projected>
  trimSync(keepBytes: Unsigned): Projected
  close(): Promise<void>
  closeSync(): void
  [Symbol.dispose](): void
  [Symbol.asyncDispose](): Promise<void>
}

/** A line. */
export interface LineRow {
  /** What stands for it as a cursor, for ever. */
  id: string
  kind: 'line'
  text: string
}

/** Something that is missing. */
export interface GapRow {
  /** Null for a gap without a number. */
  id: string | null
  kind: 'gap'
  /** Null for a gap of the journal itself, which needs none. */
  reason: GapReason | null
}

export type Row = LineRow | GapRow

/** Some rows that stand side by side, the oldest first: at most 400, and 262,144 bytes. */
export interface Window {
  rows: Row[]
  /** The cursor for the next older window; null where there is nothing older. */
  before: string | null
  /** The cursor for what follows; null where no row has a number. */
  after: string | null
}

/** A reader of one run's lines. It writes nothing and keeps nothing open but the run's directory. */
export class LogReader {
  private constructor()
  /** Rejects as {@link Journal.open}. */
  static open(directory: Path, options?: JournalOptions): Promise<LogReader>
  static openSync(directory: Path, options?: JournalOptions): LogReader
  readonly directory: string
  /** The last rows. No rows where nothing was projected yet. */
  tail(options?: CallOptions): Promise<Window>
  tailSync(): Window
  /** The rows just before the one with this id. `EXECUTION_INPUT` for an id that no row ever had. */
  history(before: string, options?: CallOptions): Promise<Window>
  historySync(before: string): Window
  /** At most `limit` rows (400) just after the one with the id `after`, from the oldest on without one. */
  lines(options?: CallOptions & LinesOptions): Promise<Window>
  linesSync(options?: LinesOptions): Window
  close(): Promise<void>
  closeSync(): void
  [Symbol.dispose](): void
  [Symbol.asyncDispose](): Promise<void>
}

export interface LinesOptions {
  after?: string | null | undefined
  limit?: Unsigned | null | undefined
}

/** One frame of a replay. */
export interface Frame {
  /** The row's id. Heartbeats and gaps without a number have none, and move no cursor. */
  id: string | null
  event: 'line' | 'gap' | 'heartbeat'
  /** The row as one line of JSON, `{"id","kind","text"}` or `{"id","kind","reason"}`; empty for a heartbeat. */
  data: string
}

export interface ReplayOptions extends JournalOptions {
  /** Begins just after the row with this id; left out: with the oldest row. */
  lastEventId?: string | null | undefined
}

/**
 * The rows of a run and those to come. It is open until its loop is left, `close` is called, its signal fires, a call
 * rejects, or `await using` ends. While somebody waits for a frame it keeps the process alive.
 */
export interface Replay extends AsyncIterableIterator<Frame> {
  readonly directory: string
  /** The id to go on with the next time: that of the last row that was handed out, and `lastEventId` before the first. */
  readonly resumePoint: string | null
  /** Bytes of frames that were read and wait, at most {@link MAX_PENDING_BYTES}. Nothing is read while they are many. */
  readonly pendingBytes: number
  readonly closed: boolean
  next(): Promise<IteratorResult<Frame, undefined>>
  /** The next frame; null when so many milliseconds are over, and when it is closed. */
  nextFrame(options?: { timeoutMs?: Unsigned | null | undefined }): Promise<Frame | null>
  return(value?: any): Promise<IteratorResult<Frame, any>>
  /** Ends it. Who waits is told that it is done. Resolves when nothing of it is left. */
  close(): Promise<void>
  [Symbol.asyncIterator](): Replay
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Replays a run's rows from just after `lastEventId` on, and goes on with those to come. Where that row is not retained any
 * more, and where no row ever had the id, the first frame is a gap. After {@link HEARTBEAT_MS} without a frame there is a
 * heartbeat. It is opened by whoever wants the first frame, which rejects with `EXECUTION_UNKNOWN_RUN` where there is no such
 * directory. An error ends it, and no row is lost: go on with a new one from `resumePoint`.
 *
 * A slow consumer misses nothing and gets nothing twice. Any number of replays wait with one thread and hold no worker of
 * libuv's pool meanwhile.
 */
export function replay(directory: Path, options?: ReplayOptions): Replay

/**
 * A frame as one server-sent event, with the empty line that ends it, for a response that is written in another way than by
 * {@link pipeReplay}. A heartbeat is a comment; an id that the format cannot carry is left out.
 */
export function serverSentEvent(frame: { id?: string | null | undefined, event: string, data: string }): string

/** As much of an `IncomingMessage` of node:http as is used. */
export interface EventRequest {
  readonly method?: string | undefined
  readonly headers: Record<string, string | string[] | undefined>
}

/** As much of a `ServerResponse` of node:http as is used. */
export interface EventResponse {
  readonly req?: EventRequest | undefined
  readonly headersSent: boolean
  readonly writableEnded: boolean
  readonly destroyed: boolean
  setHeader(name: string, value: string): unknown
  write(chunk: Uint8Array): boolean
  end(): unknown
  on(event: string, listener: () => void): unknown
  off(event: string, listener: () => void): unknown
}

/** How a response came to its end. */
export interface ReplayEnd {
  /**
   * `disconnected`: the client went away, or the response was ended or destroyed. `aborted`: the signal has fired.
   * `closed`: the replay was closed. `failed`: by `error`. After the last three the response was ended here.
   */
  how: 'disconnected' | 'aborted' | 'closed' | 'failed'
  /** The id of the last row that was written, or the one that it was begun with. It may not have arrived. */
  resumePoint: string | null
  error: GallivantError | null
}

/**
 * Writes a replay to a response of node:http as server-sent events (`id`, `event`, `data`; heartbeats are comments), at the
 * pace of whoever reads them, until the client goes away or the signal fires. Resolves with how it ended; then nothing is
 * left, no listener, timer, watch or descriptor.
 *
 * `source` is a run's directory, or a replay, which is closed at the end. For a directory `lastEventId` is the request's
 * header `Last-Event-ID` where it is not given, so that a browser that reconnects goes on where it was.
 *
 * Sends `content-type: text/event-stream`, `cache-control: no-store, no-transform` and `x-accel-buffering: no`, unless
 * headers were sent before. A HEAD request gets them alone. A response takes one replay at a time. Where it cannot begin it rejects with nothing sent, so that you
 * answer: `EXECUTION_UNKNOWN_RUN`, `EXECUTION_IO`, a wrong argument, a signal that fired.
 */
export function pipeReplay(
  source: Path | Replay,
  response: EventResponse,
  options?: { lastEventId?: string | null | undefined, signal?: Signal | null | undefined, host?: Host | null | undefined },
): Promise<ReplayEnd>

/** After so many milliseconds without a frame there is a heartbeat. */
export const HEARTBEAT_MS: number
/** The most bytes of frames that wait for the consumer of a replay. */
export const MAX_PENDING_BYTES: number

/** Something that is missing from a journal. */
export interface Gap {
  /** The first number that it stands for. */
  from: bigint
  /** The last one. One less than `from` where damaged bytes stand for no number, as a line that is there twice. */
  to: bigint
  /** `corrupt-record` where it was found, any other where it was recorded. */
  reason: GapReason
  /** Its bytes in `events.jsonl`: from the first one to the one behind the last. */
  bytes: { from: bigint, to: bigint }
}

/** What a check has found. */
export interface Checked {
  /** What is acknowledged. */
  end: Position
  /** How many good records there are that are no gaps. */
  records: bigint
  /** Every gap that is recorded, and every damage that was found, in the file's order. */
  gaps: Gap[]
  /** The batch that waits behind the acknowledged bytes; the next append recovers it. */
  pending: { records: bigint, kept: bigint } | null
}

/** What the journal in a run's directory is worth. Writes nothing. Rejects as the journal refuses. */
export function check(directory: Path, options?: JournalOptions): Promise<Checked>
export function checkSync(directory: Path, options?: JournalOptions): Checked

/** The view of a run's result. An integer that no `number` holds is a bigint. */
export interface RunResult {
  outcome: unknown
  cost: number | bigint | null
  artifacts: unknown
  application: unknown
  verification: unknown
  /** Of a result of an older package. */
  summary?: unknown
}

/** The view of a run's result, without text of files, recognised credentials covered; null before there is a result. */
export function readRunResult(directory: Path, options?: JournalOptions): Promise<RunResult | null>
export function readRunResultSync(directory: Path, options?: JournalOptions): RunResult | null

/** The same as JSON text, with all digits. */
export function readRunResultJson(directory: Path, options?: JournalOptions): Promise<string | null>
export function readRunResultJsonSync(directory: Path, options?: JournalOptions): string | null

/** The runs below a root, by name, whose raw output has expired and whose result is durable. Nothing is removed. */
export function retentionCandidates(root: Path, options?: JournalOptions): Promise<string[]>
export function retentionCandidatesSync(root: Path, options?: JournalOptions): string[]

/** One line of a row, as it is displayed. */
export interface Part {
  /** The row's id. */
  id: string
  /** Which part of the row it is, from 0. */
  position: number
  text: string
  /** Whether it stands for something that is missing; `text` is the reason then. */
  isGap: boolean
}

/** Splits a row, or the parsed `data` of a frame, at its line ends. A row without an id has no parts. */
export function split(row: Row | { id: string | null, kind: 'line' | 'gap', text?: string, reason?: GapReason | null }): Part[]

/**
 * What of a log a user interface shows: bounded parts, and what has to be read again. It reads nothing and waits for
 * nothing. At most 2,000 parts that were painted as they came, 2,000 of history, and 400 that wait.
 */
export class DisplayWindow {
  /** An empty one. */
  constructor()
  /** Takes in parts that have come. They wait for `paint`. One that is there already changes nothing. */
  push(...parts: Part[]): void
  /** Paints what waits, and answers how many parts that were. */
  paint(): number
  /**
   * Merges parts of history: those that were read with the cursor `asked` (left out: the tail), and the cursor `before`
   * that came with them. What is missing is added, nothing is doubled.
   */
  merge(parts: Iterable<Part>, asked?: string | null, before?: string | null): void
  /** Forgets what waits, and takes in nothing any more. */
  close(): void
  /** The parts that are painted, in the log's order. */
  painted(): Part[]
  /** How many parts are painted as they came, came from history, and wait. */
  readonly counts: { live: number, history: number, pending: number }
  /** The cursor for what is older than the oldest part of history; null where nothing is. */
  readonly oldestCursor: string | null
  /** For each stretch that is to be read again the cursor to ask `history` with; null stands for the log's end (`tail`). */
  readonly recoveryCursors: (string | null)[]
}
