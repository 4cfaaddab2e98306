/** The part of `gallivant/execution` about lanes: many tasks, at most so many at a time. A lane has no timer of its own. */

import type { Execution, Report } from './execution.js'
import type { HealthScope, HealthStore } from './execution_health.js'
import type { CallOptions } from './index.js'

/** What a task has come to. */
export type Settled<T> = { status: 'fulfilled', value: T } | { status: 'rejected', reason: unknown }

/**
 * Runs tasks, at most `concurrency` at a time (1 to 64, 4 where it is left out), and gives what each has come to, in their order.
 * One that is slow or fails holds its own slot only.
 */
export function runLane<T>(tasks: Iterable<() => T | PromiseLike<T>>, concurrency?: number): Promise<Settled<T>[]>

/**
 * One pass of each boundary that is due, and what it gave, in their order. Those that are not due are left out. A settled run stays due
 * (EX-REC-05): hand in those that are `live`.
 */
export function runProgressLane(
  executions: Iterable<Execution>, options?: CallOptions & { concurrency?: number | undefined },
): Promise<{ execution: Execution, report: Report | null, error: unknown }[]>

/**
 * Dispatches that were refused by health, each once more after the probe that is under way for its account in this store, if that
 * has succeeded. `refused` stays what waits for no probe, for one that fails, and for one that is not over after `timeoutMs` or
 * when the signal fires. Begins no probe. `retry` is your own dispatch, with all its checks.
 */
export function runDispatchLane<T>(
  store: HealthStore, dispatches: Iterable<{ scope: HealthScope, retry: () => T | PromiseLike<T> }>,
  options: CallOptions & { timeoutMs: number | bigint, concurrency?: number | undefined },
): Promise<(Settled<T> | { status: 'refused' })[]>
