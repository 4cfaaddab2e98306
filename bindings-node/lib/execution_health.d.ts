/// <reference lib="esnext.disposable" />
/** The part of `gallivant/execution` about the health of providers' accounts. */

import type { Json, Limits, More } from './execution.js'
import type { CallOptions, Host, Path } from './index.js'

/** What the last health check of an account has shown (EX-SCH-10). */
export interface HealthRecord extends More {
  version: 1, provider: string, account: string, ok: boolean, checkedAt: number, nextAttemptAt: number, failures: number
  code?: string | null, remedy?: string | null, evidence?: unknown
}
/** An account of a provider. */
export interface HealthScope { provider: string, account: string }
/** What a check has shown, as whoever made it says it. A failure's remedy is that of every dispatch that it refuses. */
export type ProbeResult =
  | { ok: true, evidence?: Json | undefined }
  | { ok: false, code: string, remedy: string, evidence?: Json | undefined, retryAfterMs?: number | undefined }

/**
 * The health of accounts, one file each below a directory that is no task's root (EX-SCH-12). It runs no check: you do, for what
 * is `due`, and say what it has shown. What authorises a dispatch is on disk, for every process. Makes no file by itself.
 */
export class HealthStore {
  constructor(root: Path, options?: {
    host?: Host | null | undefined, limits?: Partial<Limits> | null | undefined,
    /** Whose health is wanted: without a record they are due. */
    scopes?: Iterable<HealthScope> | undefined, secrets?: Iterable<string> | null | undefined,
  })
  /** Wants the health of one more account. */
  want(scope: HealthScope): void
  /** Whether a refresh of this account is under way in this store. */
  scheduled(scope: HealthScope): boolean
  /** Whether a dispatch is authorised now: by a success that still counts, and no refresh under way. Never probes, never writes. */
  authorize(scope: HealthScope, options?: CallOptions): Promise<boolean>
  /** What is recorded, or null. Never probes, never writes. */
  healthStatus(scope: HealthScope, options?: CallOptions): Promise<HealthRecord | null>
  /** The accounts whose check is due now. */
  due(options?: CallOptions): Promise<HealthScope[]>
  /** Schedules a refresh, or null where one is under way. The account's authority has ended once it has resolved. */
  begin(scope: HealthScope, options?: CallOptions): Promise<Refresh | null>
  /** Saves what a check has shown; the record is on disk then. */
  record(scope: HealthScope, result: ProbeResult, options?: CallOptions): Promise<HealthRecord>
  /** Waits for the refresh that is under way, for so long. Starts none. */
  joinScheduled(scope: HealthScope, options: CallOptions & { timeoutMs: number | bigint }): Promise<'not-scheduled' | 'over' | 'under-way'>
}
/** A scheduled refresh: whoever has it runs the check, and records what it has shown or gives up. */
export class Refresh {
  private constructor()
  readonly scope: HealthScope
  record(result: ProbeResult, options?: CallOptions): Promise<HealthRecord>
  /** Ends it without a result: the account stays without authority, and its check is due. Answers whether it was under way. */
  giveUp(): boolean
  [Symbol.dispose](): void
}
