/**
 * A machine that a test controls, for those who crash-test their own coordinators: the real disk and the real process
 * table behind a clock, chance and faults that a test sets.
 *
 * Count the operations of a run without faults; then, for each number, run once more in a process of its own with a
 * crash there; then look at what other processes find.
 */

import type { Host, Unsigned } from './index.js'

/** One thing that goes wrong, by the number of a storage operation or by its kind. */
export interface Fault {
  /** The operation of this number, counted from 1. */
  at?: number
  /** Operations of this kind, e.g. `rename`, `write`, `sync`, or `mutating`, or `any`. */
  on?: string
  /** Only those on this name; a trailing `*` stands for any ending. */
  name?: string
  /** The n-th of them, from 1. */
  nth?: number
  /** And each one after it. */
  repeat?: boolean
  /** `crash` and `crash-after` kill this very process, as a SIGKILL at that point would. */
  do: 'error' | 'error-after' | 'short' | 'torn' | 'crash' | 'crash-after' | 'full'
  /** How it fails, e.g. `EIO`, `ENOSPC`. */
  errno?: string
  /** How many bytes are still written, or fit. */
  bytes?: number
}

/** What happens at a fault point of the execution layer (EX-SEA-07). */
export interface FaultPoint {
  /** The point, e.g. `dispatch.intent`, or `persist:execution.json` just before that is written. */
  point: string
  /** At which hit of the point, from 1, which it is where it is left out. */
  nth?: number
  /**
   * `crash` ends this very process at once with status 86, `fail` lets the write report an I/O error, `pause` holds the call
   * until {@link Pause.resume}.
   */
  action: 'crash' | 'fail' | 'pause'
}

/** A call of a boundary that is held at a fault point. It holds a worker of libuv's pool. */
export interface Pause {
  readonly point: string
  /** Lets it go on. Answers whether it was still held. */
  resume(): boolean
}

/** What a {@link TestHost} is made of. */
export interface TestHostOptions {
  /** Where the wall clock stands, in milliseconds since 1970; left out: the machine's own clock. */
  wallMs?: Unsigned | null | undefined
  /** The random values to give, in turn, and then counting up from the last; left out: the machine's own chance. */
  random?: readonly Unsigned[] | undefined
  /** What goes wrong. A string is taken as JSON. */
  faults?: readonly Fault[] | string | undefined
  /** Another name of the machine; left out: its own. Processes under different names prove nothing of each other. */
  machine?: string | null | undefined
  /** Another identity of the boot; left out: its own. */
  boot?: string | null | undefined
  /** The number from 0 to 1 in the waits of the execution layer after failures; left out: chance. */
  jitter?: number | undefined
  /** What happens at the fault points of the execution layer. A string is taken as JSON. */
  points?: readonly FaultPoint[] | string | undefined
  /** Called for each pause; left out: a paused call goes on at once. */
  onPause?: ((pause: Pause) => void) | undefined
}

/** The real disk behind a clock, chance and faults that a test sets. Waiting is real. */
export class TestHost {
  /** Throws `GALLIVANT_INPUT` when the list of faults cannot be used. */
  constructor(options?: TestHostOptions)
  /** What is handed to the code under test, as its option `host`. */
  readonly host: Host
  /**
   * Puts the wall clock there, as an operator or a time server does. The clocks by which a record with the extension
   * object is judged go on, so that it grows no older: what is to grow old is let by {@link advanceMs}. Does nothing where
   * the clock is the machine's own.
   */
  setWallMs(wallMs: Unsigned): void
  /**
   * Puts all clocks by which something is stamped and judged there, the machine having slept for so long since it booted
   * (0). Clocks of several processes that are put to one instant agree. Does nothing where the clock is the machine's own.
   */
  standAt(wallMs: Unsigned, sleptMs?: Unsigned): void
  /** Lets time pass on all clocks, or, where `ms` is negative, sets the wall clock back. */
  advanceMs(ms: number | bigint): void
  /** Replaces the faults; operations keep their numbers. Throws as the constructor. */
  setFaults(faults: readonly Fault[] | string): void
  /** The storage operations so far, a line each. */
  readonly operations: string[]
}

/** Bugs on purpose. Each throws, or rejects with, an error of code `GALLIVANT_INTERNAL`; the process goes on. */
export const provokePanic: {
  /** In a native function. */
  inFunction(message: string): never
  /** In a native function that has no barrier but the macro's. */
  inBareFunction(message: string): never
  /** On a worker of the pool. */
  inTask(message: string): Promise<never>
}
