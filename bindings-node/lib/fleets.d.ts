/// <reference lib="esnext.disposable" />
/** Reading many agents' records, and being told of changes. A part of `index.d.ts`. */

import type { CallOptions, Options, Path, Reader, Signal, Unsigned } from './index.js'
import type { AsyncProbe, HarnessState } from './reading.js'

/** How far a fleet is looked for. */
export interface FleetBounds {
  /** How many levels of directories below the root are entered; 0 looks at the root alone. 8, at most 128. */
  maxDepth?: number | null | undefined
  /** How many records are read, at least 1. 100,000. */
  maxRecords?: number | null | undefined
  /** How many directories are entered, whether they hold a record or not. 200,000. */
  maxDirectories?: number | null | undefined
}

/** How a fleet is walked. */
export interface FleetThreads {
  /**
   * How many threads walk a tree of which nothing is known yet, the one that reads among them. 1, at most 64. The others
   * have ended once the read is over; what is found and its order are the same whatever the number.
   */
  threads?: number | null | undefined
}

/** What a walk did not look at. Nothing of it hides anything else. */
export interface LeftOut {
  /** Directories below the last level that is entered. */
  tooDeep: bigint
  /** Directories that were known and not entered when the number of records or of directories was reached. */
  tooMany: bigint
  /** Directories that could not be listed or searched. Where the record in one can be read, it is. */
  unreadable: bigint
  /** Directories whose names are not UTF-8. */
  unnameable: bigint
  /** The first of the unreadable directories and why, in one line for people. */
  example: string | null
}

/** One record of a fleet. */
export interface FleetEntry {
  /** The agent's directory by its path below the root, `.` for the root itself. */
  path: string
  /** What may be concluded from what stands there. */
  state: HarnessState
}

/** Every record of a fleet, in the order of their paths, a directory before what is below it. */
export interface FleetView {
  entries: FleetEntry[]
  /** What was not looked at. */
  leftOut: LeftOut
  /** The instant at which the first of these answers changes by time alone; null where time alone changes none. */
  validUntilMs: bigint | null
}

/** Whether the session leases behind live records are asked for. A fleet has no other probe. */
export interface FleetProbe {
  probe?: 'lease' | null | undefined
}

/**
 * A root directory whose records are read again and again. Links are not followed on the way. A fleet that stands
 * unchanged is read by asking for each record whether it does.
 */
export class Fleet {
  /** A fleet below a directory that need not exist yet. Touches no file. Throws as {@link Reader}. */
  constructor(root: Path, options?: Options & FleetBounds & FleetThreads)
  /** The root, from the root of the file system. */
  readonly root: string
  /**
   * Every record, and what may be concluded from each now. What cannot be read is unknown, what was not looked at is said,
   * and a root that does not exist has no entries. Reads of one fleet are made one after another; each is one task of
   * libuv's pool, which a signal does not end once it runs.
   */
  read(options?: CallOptions & FleetProbe): Promise<FleetView>
  readSync(options?: CallOptions & FleetProbe): FleetView
  /** Forgets what was found, so that the next read walks the whole tree again. */
  forget(): void
}

/** Reads every record below a directory once. For more than one read open a {@link Fleet}. */
export function readFleet(root: Path, options?: Options & CallOptions & FleetBounds & FleetThreads & FleetProbe): Promise<FleetView>
/** {@link readFleet} on this thread. */
export function readFleetSync(root: Path, options?: Options & CallOptions & FleetBounds & FleetThreads & FleetProbe): FleetView

/** How a watch notices and tells. */
export interface WatchOptions extends Options {
  /** Ends the watch: whoever waits in `next`, or calls it next, gets the signal's reason. Already fired, it is thrown. */
  signal?: Signal | null | undefined
  /** How often it looks where the system does not notify, in milliseconds. 1 s, at least 10 ms. */
  pollIntervalMs?: Unsigned | null | undefined
  /** How often a probe is asked whose answer nothing announces, in milliseconds. 1 s, at least 10 ms. */
  probeIntervalMs?: Unsigned | null | undefined
  /** How long it waits after the first sign of a change for more of them, in milliseconds. 5 ms. */
  settleMs?: Unsigned | null | undefined
}

/**
 * How changes are noticed at the moment: told by the system, or looked for at the poll interval because platform or file
 * system do not tell (`polled-unsupported`) or a limit of the system is reached (`polled-limit`). More may come.
 */
export type Noticing = 'notified' | 'polled-unsupported' | 'polled-limit' | (string & {})

/** What changed in a watched record. */
export interface Change {
  /** What may be concluded now; null when nothing is there. */
  state: HarnessState | null
  noticing: Noticing
}

/** What changed in a watched fleet. */
export interface FleetChange {
  /** Each seat of which something else is to be concluded than was told last, in the order of the paths. */
  seats: {
    /** The agent's directory by its path below the root, `.` for the root itself. */
    path: string
    /** What may be concluded now; null when nothing is there any more. */
    state: HarnessState | null
  }[]
  /** What is not looked at, as it is now. */
  leftOut: LeftOut
  noticing: Noticing
}

/**
 * An open watch: an asynchronous iterator of changes. The first tells what is there now; what happens while nobody waits
 * for a change comes as one.
 *
 * It has a thread of its own and holds neither the event loop nor a worker of libuv's pool. While it is open it keeps the
 * process alive, unless `unref` was called. It ends by `close`, by leaving a `for await` loop, by its signal, by an error,
 * and with its process or worker; garbage collection does not end it.
 */
export interface Watch<T> extends AsyncIterableIterator<T>, AsyncDisposable {
  /** The watched path, from the root. */
  readonly path: string
  /** Whether it has ended or was told to. */
  readonly closed: boolean
  /**
   * The next change. Rejects, once, with the signal's reason, or with what ended the watch: `HARNESS_STATE_INPUT` with reason
   * `path` for the empty path, `HARNESS_STATE_IO` where the system cannot wait.
   */
  next(): Promise<IteratorResult<T, undefined>>
  /** {@link close}, as the end of a `for await` loop calls it. */
  return(value?: any): Promise<IteratorResult<T, any>>
  /** Ends the watch. Resolves when its thread and its descriptors are gone. Whoever waits in `next` is told `done`. */
  close(): Promise<void>
  /** Lets the watch keep the process alive, as it does from the beginning. */
  ref(): this
  /** Lets the process end although the watch is open. */
  unref(): this
  [Symbol.asyncIterator](): this
  /** {@link close}. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Watches one agent's record, by its directory or the record's own path, which need not exist yet. A change is told within
 * 50 ms, by the system's notification; time alone, and a session that dies, change what is told too. A heartbeat is a
 * change: it renews `observedAtMs`.
 *
 * A probe that is a function is asked in this thread, when the record changes and every `probeIntervalMs`. While your own
 * code keeps the thread busy for longer than `probeBudgetMs` it has answered `indeterminate`.
 */
export function watch(
  directory: Path, options?: WatchOptions & { probe?: AsyncProbe | null | undefined },
): Watch<Change>

/** Watches every record below a directory, which need not exist yet. Else as {@link watch}. */
export function watchFleet(root: Path, options?: WatchOptions & FleetBounds & FleetProbe): Watch<FleetChange>
