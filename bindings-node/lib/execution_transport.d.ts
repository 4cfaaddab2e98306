/** A transport to a provider, as part of the page of `gallivant/execution`: what its methods are given and answer, and its check. */

import type { Cursor, Json, Limits, ManifestEntry, ProviderState, RawJson } from './execution.js'
import type { Capability } from './execution_registry.js'
import type { Signal } from './index.js'

/** How a method of a transport fails. */
export type TransportErrorKind =
  | 'io' | 'auth' | 'rate' | 'protocol' | 'not-sent' | 'collection-validation' | 'deadline' | 'aborted'

/** What a method rejects with to say how it has failed. Whatever else it throws or rejects with has failed with `io`. */
export class TransportError extends Error {
  constructor(kind: TransportErrorKind, message: string, options?: {
    /** After how many milliseconds the provider wants to be asked again: a number from 0 on. A text, as of a header, is ignored. */
    retryAfterMs?: number | undefined
    /** The transport's own code. */
    code?: string | undefined
    cause?: unknown
  })
  readonly kind: TransportErrorKind
  readonly retryAfterMs?: number
  readonly code?: string
}

/**
 * For `submit` and `continue`: nothing was sent. Honest only before the first request to the provider, those that set
 * something up included, and before the transport has saved anything of its own. The operation is then as if it had never
 * been asked for.
 */
export function dispatchNotSentError(code: string, message: string): TransportError
/** For `collect`: an artifact of a completed turn is faulty, and will be so each time. */
export function collectionValidationError(reason: string, message: string): TransportError

/** The platform's own AbortSignal, where its types are there. */
export type AbortSignalOf = typeof globalThis extends { AbortSignal: { prototype: infer S } } ? S : Signal

/** What every method is given besides its input. */
export interface TransportCall {
  /** Fires at the deadline, at the caller's own signal, and when the boundary is closed. One second later the method is left alone. */
  readonly signal: AbortSignalOf
  /** When the call counts as failed, in milliseconds since 1970. */
  readonly deadlineAt: number
  /** The limits in force. */
  readonly limits: Readonly<Limits>
  /** The input as the text that it is: identities, cursors and numbers as they were saved. */
  readonly inputJson: string
  /** To be called just before the first request to the provider, or the first record of the transport's own. */
  sending(): void
}

/** The reply of a method: a value, or its text as JSON. */
export type Reply = RawJson | string | object | null

/** Whose turn it is now: the reply to `submit`, `continue` and `recoverResponse`. */
export interface ProviderAcknowledgement {
  providerJobId: string
  /** With the job new for each turn: also for a turn that goes on in the session of another. */
  turnId: string
  /** By which the provider goes on. Without one no turn can be continued; a provider without sessions names its job. */
  sessionId?: string | null | undefined
  /** Where the events of this turn begin, behind those of an earlier turn of the session. Missing is the beginning. */
  cursor?: Cursor | null | undefined
  environment?: Json | undefined
  model?: Json | undefined
  policy?: Json | undefined
}

/** One event of a turn. */
export interface ProviderEvent {
  /** The same each time that it is told of, at most 512 UTF-16 units: by it an event is in the journal once. */
  eventId: string
  /** At most 64 bytes of UTF-8. */
  type: string
  /** An integer from 0 on. */
  sequence?: number | bigint | null | undefined
  /** The provider's own time, for information. */
  timestamp?: number | null | undefined
  data?: Json | undefined
}

/** What a turn does: the reply to `inspect` and `lookup`. Times are milliseconds since 1970 by the clock of this machine. */
export interface ProviderObservation {
  providerJobId: string
  turnId: string
  sessionId?: string | null | undefined
  state: ProviderState
  /** When it was seen, a whole number: at least the run's start and the last one that was told, and at most now. There is no tolerance. */
  observedAt: number
  /** The exact end, with `succeeded`, `failed` and `cancelled` alone, between the run's start and `observedAt`. Leave it out when in doubt. */
  completedAt?: number | null | undefined
  /** The next page behind the input's `cursor`: at most `eventPageRecords`, and `eventPageBytes` as JSON. */
  events?: readonly ProviderEvent[] | null | undefined
  /** Behind the last of `events`. Missing keeps the one that is known. */
  cursor?: Cursor | null | undefined
  /** That events are missing before these. */
  gap?: boolean | { reason: string } | null | undefined
  /** All that the turn has cost so far, in US dollars; null where that is not known. */
  costUsd?: number | null | undefined
}

/** What a turn has made: the reply to `collect`. Further members are ignored and saved nowhere. */
export interface ProviderResult {
  providerJobId: string
  turnId: string
  sessionId?: string | null | undefined
  /** That of the input: a result with another one is refused as foreign. */
  inputHead?: string | null | undefined
  outcome: {
    finished: true
    /** True after `succeeded`, false after `failed`. */
    ok: boolean
    cost?: number | null | undefined
    denials?: readonly Json[] | null | undefined
    exit?: number | null | undefined
    diagnostics?: Json | undefined
  }
  completedAt?: number | null | undefined
  /** What was said at the end. It is in `result.json` as it came. */
  text?: string | null | undefined
  repo?: string | undefined
  branch?: string | undefined
  /** The files, or `pushedHead`, and never both. */
  files?: readonly ManifestEntry[] | null | undefined
  pushedHead?: string | null | undefined
  pr?: { title: string, body: string } | null | undefined
}

/** What a stop has come to at the provider. */
export interface ProviderStop {
  /** Whether the provider itself calls the turn cancelled. With true nothing is asked for any more, neither cost nor last events. */
  confirmed: boolean
}

/** What was prepared: both have to be what the record declares. */
export interface ProviderPreparation { boundary: string, authority: string, grant: { readonly [name: string]: Json | undefined } | null }

/** Whose work it is. */
export interface Scope { taskId: string, provider: string, account: string }

/** What `submit` is given. */
export interface SubmitRequest extends Scope {
  runId: string
  operationId: string
  /** The provider makes one job for it, however often it comes. */
  idempotencyKey: string
  kind: 'implementation' | 'intake'
  prompt: string
  inputHead: string | null
  policy: string | null
  model: string | null
  environment: string | null
  reservationUsd: number | null
  hardCapUsd: number | null
  preparation: Record<string, unknown> | null
}
/** What `continue` is given. */
export interface ContinueRequest extends SubmitRequest {
  sessionId: string
  previous: { providerJobId: string, turnId: string }
  response?: { signature: string, answer: unknown }
}
/** What `prepare` is given. */
export interface PrepareRequest extends Scope {
  phase: 'draft' | 'clarify' | 'repair'
  prompt: string
  environment: unknown
  allowanceUsd: number
}
/** A job, as it is asked about. */
export interface JobRequest extends Scope { runId: string, providerJobId: string, sessionId: string | null, turnId: string }
/** What `inspect` is given: the last cursor that was taken, and when the run began. */
export interface InspectRequest extends JobRequest { cursor: Cursor | null, startedAt: number }
/** What `collect` is given. */
export interface CollectRequest extends Omit<JobRequest, 'provider' | 'account'> { inputHead: string | null, terminalState: string }
/** What `cancel` is given. */
export interface CancelRequest extends JobRequest { idempotencyKey: string }
/** What `lookup` is given. `cursor` is where the events are to begin, as for `inspect`: null before any page was taken. */
export interface LookupRequest extends Scope {
  runId: string
  operationId: string
  idempotencyKey: string
  inputHead: string | null
  intentAt: number
  action: 'submit' | 'continue'
  sessionId?: string
  cursor: Cursor | null
}

type Said<Answer> = Answer | RawJson | string
type Method<Request, Answer> = (input: Request, call: TransportCall) => Said<Answer> | PromiseLike<Said<Answer>>

/**
 * A remote adapter: your own code, which reaches the provider. A method is there or not; none is found out by calling. It
 * starts no timer and no loop of its own and tries nothing twice: the boundary asks again when it is due.
 */
export interface Transport {
  prepare?: Method<PrepareRequest, ProviderPreparation>
  submit: Method<SubmitRequest, ProviderAcknowledgement>
  inspect: Method<InspectRequest, ProviderObservation>
  continue?: Method<ContinueRequest, ProviderAcknowledgement>
  /** Null where there is no result yet. */
  collect: Method<CollectRequest, ProviderResult | null>
  cancel?: Method<CancelRequest, ProviderStop>
  /** Of the exact job, or null: not found, or not certain. */
  lookup?: Method<LookupRequest, ProviderObservation | null>
  /** What `continue` was given, whose reply was lost. Null where nothing certain is found. */
  recoverResponse?: Method<ContinueRequest, ProviderAcknowledgement | null>
}

/** What the provider's end of a transport has seen. */
export interface WitnessCounts {
  /** So far, without those of the looking itself, and without those of a `submit` that only set something up. */
  requests: number
  /** So far. */
  jobs: number
  /** So far. */
  cancellations: number
  /** Now: connections, files, threads. */
  openHandles: number
}
/** A part of the contract that a transport does not keep. */
export interface Finding { clause: string, method: string, seen: string }
/**
 * Calls the methods of a transport and looks at its provider. Every reply is judged as a pass judges it; and `prepare` has to make no
 * job, `submit` exactly one with one request and after `sending()`, `cancel`, called twice with one key, one effect, and a `lookup` of a
 * key that nobody has sent has to find nothing. After no method a handle stays open, and nothing reaches the provider while nobody asks
 * for anything. `recoverResponse` is not called: only a turn that waits for an answer has one. Without findings the transport has kept
 * what was looked at.
 *
 * `look` counts at the provider's end: a fake provider, or a test account. The check makes a job and stops it, with `endingPrompt` another
 * one that ends, and goes on in a session where the record says that turns do. Where the record has no stop, the job is left to its
 * end. It takes a quarter of a second and the call for each method.
 */
export function checkTransport(transport: Transport, options: Scope & {
  capabilities: Capability | RawJson
  look: () => WitnessCounts | PromiseLike<WitnessCounts>
  /** Of the job that is stopped, which has to live for about a second until then. */
  prompt?: string | undefined
  /** Of a job that ends by itself within ten seconds: its end and its result are judged too. */
  endingPrompt?: string | undefined
  /** Makes the keys of this check those of no other one; chance where it is left out. */
  nonce?: string | undefined
  inputHead?: string | null | undefined
  policy?: string | null | undefined
  model?: string | null | undefined
  environment?: string | null | undefined
  limits?: Partial<Limits> | undefined
  /** Values that no finding shows. */
  secrets?: Iterable<string> | undefined
  signal?: Signal | undefined
}): Promise<Finding[]>
