/// <reference lib="esnext.disposable" />
/**
 * Idempotent creates: what a create's key means before, while and after the thing it names exists. A part of `index.d.ts`.
 *
 * The guide is `docs/guides/idempotency.md` in the project's repository, and the middleware for HTTP servers is
 * `gallivant/http`.
 */

import type { CallOptions, GallivantError, Host, Path, Unsigned } from './index.js'

/** Bytes; a string is taken as its UTF-8. */
export type Bytes = string | ArrayBufferView | ArrayBuffer

/** How a store behaves. All processes that share a store should open it with the same. */
export interface StoreOptions {
  /** How long a finished claim is replayed, from its completion, in milliseconds: 1 minute to 30 days. 24 hours (IK-11). */
  windowMs?: Unsigned | null | undefined
  /** After so long without a refresh a reservation whose owner lives answers unknown, in milliseconds. 1 hour (IK-09). */
  maxReservationMs?: Unsigned | null | undefined
  /** The largest answer that is saved, in bytes. 1 MiB, at most 512 MiB (IK-14). */
  maxAnswerBytes?: Unsigned | null | undefined
  /** How long a call without a deadline waits for another process's transaction, in milliseconds. 5 seconds (IK-19). */
  busyMs?: Unsigned | null | undefined
  /** The machine to work on. */
  host?: Host | null | undefined
}

/** Options of a call that may wait. */
export interface DeadlineOptions {
  /** How long to wait for another process's transaction, in milliseconds; left out: the store's `busyMs`. */
  deadlineMs?: Unsigned | null | undefined
}

/** Options of a call that returns a promise. */
export interface CreateOptions extends DeadlineOptions, CallOptions {}

/** Options of {@link Ticket.wait}. */
export interface WaitOptions extends CallOptions {
  /** How long to wait for the create, in milliseconds; left out: until it ends. */
  deadlineMs?: Unsigned | null | undefined
}

/** How an answer came about. */
export type How = 'fresh' | 'replayed' | 'waited' | 'taken-over' | 'expired' | 'recreated' | 'settled'

/** What a create is to do. */
export type Begin = Reservation | FinishedClaim | Ticket | UnknownClaim

/**
 * The claims of all processes that open the same file, with `-wal` and `-shm` beside it.
 *
 * A call whose signal fires while it waits rejects with the signal's reason and has written nothing; `begin` and the waits
 * of a ticket hold nothing then either.
 */
export class IdempotencyStore implements Disposable, AsyncDisposable {
  private constructor()
  /**
   * Opens the store in this file, or makes it where nothing is; its directory has to be there. Once it has returned, the
   * file is private to its owner and durable.
   *
   * Throws `IDEMPOTENCY_INPUT` for options out of range; `IDEMPOTENCY_STORE_UNAVAILABLE`, `_STORE_UNSUPPORTED`,
   * `_STORE_CORRUPT` and `_STORE_VERSION`, which leave the file as it is; `IDEMPOTENCY_BUSY`.
   */
  static open(path: Path, options?: StoreOptions & CallOptions): Promise<IdempotencyStore>
  static openSync(path: Path, options?: StoreOptions): IdempotencyStore
  /** The file, from the root. */
  readonly path: string
  /** The options that it was opened with. */
  readonly options: Readonly<{ windowMs: bigint, maxReservationMs: bigint, maxAnswerBytes: bigint, busyMs: bigint }>

  /**
   * Asks what the key means to a create with this body, and reserves it where it is free. Once a {@link Reservation} has
   * come back, it is durable; every other answer has written nothing.
   *
   * `operation` is the namespace of the key. `scope` is whom it belongs to, outermost first: whatever decides what is made
   * besides the body, such as a parent in the path or the acting principal. `key` is 1 to 255 bytes of visible ASCII.
   * `body` is the request exactly as it was sent, or a {@link Fingerprint} of it; it is read before the call returns.
   *
   * Throws `IDEMPOTENCY_KEY_REUSED` when the key belongs to another body; `_KEY_INVALID`, `_SCOPE_INVALID`; `_BUSY`; those
   * of the store. Nothing may be made after any of them.
   */
  begin(
    operation: string, scope: readonly string[], key: string, body: Bytes | Fingerprint, options?: CreateOptions,
  ): Promise<Begin>
  beginSync(
    operation: string, scope: readonly string[], key: string, body: Bytes | Fingerprint, options?: DeadlineOptions,
  ): Begin

  /** What stands on disk for a name; null where nothing does, or what does has expired. Read-only. */
  inspect(operation: string, scope: readonly string[], key: string, options?: CallOptions): Promise<ClaimView | null>
  inspectSync(operation: string, scope: readonly string[], key: string): ClaimView | null

  /**
   * Removes finished claims that have expired: a bounded number a call, so that no create waits long behind it. Call it
   * again while `hasMore`.
   */
  sweep(options?: CallOptions): Promise<Swept>
  sweepSync(): Swept

  /**
   * Whether keyed creates are available now, for a server that advertises them. Writes nothing. A store that is only busy
   * is available.
   */
  capability(options?: CallOptions): Promise<Capability>
  capabilitySync(): Capability

  /**
   * Looks whether the machine has slept, which every judgement does too: for two minutes from then no owner is taken over
   * for its age (IK-09). Worth calling by whoever is told of a wake-up. Touches no disk.
   */
  noticeSleep(): void

  /**
   * Lets go of the store. What it has handed out, and calls under way, keep its connection until they are done. Further
   * calls throw `GALLIVANT_INPUT` with reason `closed`.
   */
  close(): Promise<void>
  closeSync(): void
  /** {@link closeSync}. */
  [Symbol.dispose](): void
  /** {@link close}. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * The right to make the thing. End it by exactly one of `complete` and `release`.
 *
 * Its calls are made in the order in which they were begun. Garbage collection of one that was not ended drops it as
 * {@link abandonSync} does, on JavaScript's thread, and so does the end of its environment. That is a last resort, since
 * nobody can say when it comes: use `await using`, or `finally` with {@link abandon}.
 */
export interface Reservation extends Disposable, AsyncDisposable {
  readonly kind: 'create'
  readonly how: How
  /**
   * Says what was made and how it was answered. Once it has returned, both are durable, and every repeat gets them.
   *
   * Throws `IDEMPOTENCY_CLAIM_LOST` when somebody else has taken the name over: nothing is changed, and the error's
   * `resource` names what the winner made, once it has completed, so that the loser can undo its own.
   * `IDEMPOTENCY_ANSWER_TOO_LARGE` and those of the store: it is still held, and the call may be repeated.
   */
  complete(resource: string, answer: Bytes, options?: CreateOptions): Promise<void>
  completeSync(resource: string, answer: Bytes, options?: DeadlineOptions): void
  /**
   * Says that nothing outside exists: the next create with this key, and any body, may make the thing. Once it has
   * returned, that is durable. Throws `IDEMPOTENCY_CLAIM_LOST`, and those of the store: then it is still held.
   */
  release(options?: CreateOptions): Promise<void>
  releaseSync(options?: DeadlineOptions): void
  /**
   * Says that an effect which a retry could double may happen from now on. Once it has returned, that is durable: no
   * exception, drop, crash or takeover releases the name any more, until `complete`, `release` or a settlement. When it
   * throws, the effect must not be started.
   */
  effectStarting(options?: CreateOptions): Promise<void>
  effectStartingSync(options?: DeadlineOptions): void
  /**
   * Says that its owner is still at work, so that nobody who cannot prove it takes the name over for another two minutes.
   */
  keepAlive(options?: CreateOptions): Promise<void>
  keepAliveSync(options?: DeadlineOptions): void
  /**
   * Drops it: released, unless it was ended. After `effectStarting` nobody may make the thing before it has been settled
   * whether it exists, so it answers {@link UnknownClaim} from then on. Never throws for what the store says: where it
   * cannot be written within a second, the claim is left to the judgement of its owner's fate.
   */
  abandon(): Promise<void>
  /** {@link abandon} on this thread. */
  abandonSync(): void
  /** {@link abandonSync}. */
  [Symbol.dispose](): void
  /** {@link abandon}. */
  [Symbol.asyncDispose](): Promise<void>
}

/** What the first create made, and how it answered. */
export interface FinishedClaim {
  readonly kind: 'replay'
  readonly how: How
  /** The id of the thing. */
  readonly resource: string
  /** The answer that the first create's caller got, byte for byte; null where the resource was only found afterwards. */
  readonly answer: Uint8Array | null
  /** When the create finished, in milliseconds since 1970. */
  readonly completedMs: bigint
  /**
   * Says that the resource is proved to be gone: the key names nothing any more, and exactly one of all who say so gets a
   * {@link Reservation}; the others wait for it. A read of the resource that failed or was denied proves nothing. Throws as
   * {@link IdempotencyStore.begin}.
   */
  recreate(options?: CreateOptions): Promise<Begin>
  recreateSync(options?: DeadlineOptions): Begin
  /**
   * Whether the claim still stands as it was read, so that a look at the resource that was made meanwhile was about this
   * claim's.
   */
  stillStands(options?: CallOptions): Promise<boolean>
  stillStandsSync(): boolean
}

/** A create with the same key and body that runs in this or another process. */
export interface Ticket {
  readonly kind: 'in_progress'
  readonly how: How
  /** Asks again, without waiting for the create. Throws as {@link IdempotencyStore.begin}. */
  look(options?: CreateOptions): Promise<Begin>
  lookSync(options?: DeadlineOptions): Begin
  /**
   * Waits until the create ends: a {@link FinishedClaim} when it finished, a {@link Reservation} when it was released or
   * its owner is gone, an {@link UnknownClaim} when its owner is gone after the mark. However many wait, they hold one
   * thread for each store, and no worker of libuv's pool. The death of an owner is noticed within a quarter of a second,
   * any other end at once where the system tells of it. The ticket stays good.
   *
   * Throws `IDEMPOTENCY_IN_PROGRESS` when it still runs at the deadline, the signal's reason, and as {@link look}.
   */
  wait(options?: WaitOptions): Promise<Begin>
  /** {@link wait} on this thread. It waits in vain for a create of this very thread. */
  waitSync(options: { deadlineMs: Unsigned }): Begin
}

/**
 * A reservation whose owner is gone after the mark, or has not been heard of for too long. It stays so until it is
 * settled, or until its owner ends it after all.
 */
export interface UnknownClaim {
  readonly kind: 'unknown'
  readonly how: How
  /**
   * Says what was found out: the thing's id, or null when it is proved not to exist. The answer is then a
   * {@link FinishedClaim} without a saved answer, or a {@link Reservation}; of a claim that is not unknown any more, what
   * it is now. Durable once it has returned. Throws as {@link IdempotencyStore.begin}, and `IDEMPOTENCY_INPUT` for an empty id.
   */
  settle(found: string | null, options?: CreateOptions): Promise<Begin>
  settleSync(found: string | null, options?: DeadlineOptions): Begin
}

/** What stands on disk for a name. */
export interface ClaimView {
  /** `marked`: an effect may have happened. */
  state: 'reserved' | 'marked' | 'finished'
  /** The id of what was made; null before. */
  resource: string | null
  /** The saved answer; null before, and where the resource was only found afterwards. */
  answer: Uint8Array | null
}

/** What one call of a sweep did. */
export interface Swept {
  /** Expired claims that are gone. */
  removed: bigint
  /** Whether there may be more. */
  hasMore: boolean
}

/** Whether keyed creates are available. */
export interface Capability {
  keyedCreates: boolean
  /** What a create would be refused with, else null. */
  error: GallivantError | null
}

/**
 * Takes the fingerprint of a body that comes in parts, such as one too large for memory: SHA-256 over exactly the bytes
 * that were given. How the body is cut makes no difference. There is no canonical form (IK-03).
 */
export class Fingerprint {
  constructor()
  /** Of a body that is in memory. */
  static of(body: Bytes): Fingerprint
  /** Of a body that comes in parts, such as a readable stream. Rejects as the parts do. */
  static from(parts: AsyncIterable<Bytes> | Iterable<Bytes>): Promise<Fingerprint>
  /** Adds the next bytes. */
  update(part: Bytes): this
  /** The 32 bytes of the hash over what was added so far. */
  digest(): Uint8Array
}
