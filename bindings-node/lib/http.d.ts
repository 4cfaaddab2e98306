/**
 * Creates with an `Idempotency-Key` over HTTP: one handler for node:http, Express 4 and 5, and Fastify.
 *
 * - node:http: `createServer((req, res) => handler(req, res, (error) => application(req, res)))`.
 * - Express: `app.post('/things', authenticate, handler, express.json(), make)`, in front of what parses the body.
 * - Fastify: `fastify.post('/things', { onRequest: [authenticate, handler] }, make)`.
 *
 * For HTTP/1.1, and for HTTP/2 by its compatibility requests.
 *
 * Put it behind what authenticates and what compresses answers, and in front of whatever reads the body. A request without
 * a key, or with a method that makes nothing, passes untouched.
 *
 * The handler reads the body as it was sent and leaves it readable (`req.rawBody` has it too), asks the store, and answers
 * repeats as the first request was answered, with `Idempotent-Replayed: true`. The application's answer is kept back until
 * it is saved. Refusals are `application/problem+json` with the specification's word as `code`:
 *
 * | status | `code` | when |
 * | --- | --- | --- |
 * | 400 | `idempotency_key_invalid`, `idempotency_scope_invalid` | the key is no key |
 * | 409 | `idempotency_key_reused` | the key was used with another body |
 * | 409, `Retry-After` | `idempotency_in_progress` | the first request still runs after `waitMs` |
 * | 409, `Retry-After` | `idempotency_unknown` | nobody knows whether the first request made its thing |
 * | 409 | `idempotency_claim_lost` | another took the key over meanwhile; `resource` is what it made |
 * | 409 | `idempotency_answer_too_large` | the thing was made, its answer could not be saved; `resource` names it |
 * | 413 | `content_too_large` | the body is above `bodyLimit` |
 * | 503, `Retry-After` | `idempotency_busy`, `idempotency_store_…` | nothing can be made with a key now |
 *
 * A client that leaves while its body is read or while it waits leaves nothing behind. One that leaves while the
 * application runs changes nothing for it: its answer is saved, for the repeat.
 */

import type { Bytes, CreateOptions, GallivantError, How, IdempotencyStore, UnknownClaim } from './index.js'

/** An answer of the application. */
export interface Answer {
  status: number
  /** Pairs of names in lower case and values. */
  headers: [string, string][]
  /** Null where it is larger than can be saved. */
  body: Uint8Array | null
}

/** What answers a repeat of which only the resource is known. */
export interface Found {
  status: number
  headers?: Record<string, string | number | readonly string[]> | undefined
  body?: Bytes | null | undefined
}

/** How creates are handled. `Request` is what the framework hands to handlers: its own request. */
export interface IdempotentOptions<Request = any> {
  /** Where the keys are kept. */
  store: IdempotencyStore
  /** The namespace of the key, such as `things.create`. */
  operation: string | ((request: Request) => string | PromiseLike<string>)
  /**
   * Whom the key belongs to, outermost first: whatever decides what is made besides the body, such as the parent in the
   * path and the acting principal. There is no default, since one that leaves such a thing out shows one owner's answers
   * to another.
   */
  scope: (request: Request) => readonly string[] | PromiseLike<readonly string[]>
  /** Whether a request without a key is refused with 400. False. */
  required?: boolean | undefined
  /** How long a repeat waits for a create that runs, in milliseconds. 10,000. */
  waitMs?: number | undefined
  /** The largest body that is read, in bytes. 16 MiB. */
  bodyLimit?: number | undefined
  /** Whether an answer with this status is one of a thing that was made, and is saved; any other releases the key. 2xx. */
  isCompleted?: ((status: number, request: Request) => boolean | PromiseLike<boolean>) | undefined
  /** The header that names what was made, or a function of the answer. `location`; where nothing names it, it is `-`. */
  resource?:
    | string
    | ((request: Request, answer: Answer) => string | null | undefined | PromiseLike<string | null | undefined>)
    | undefined
  /** The headers that are saved. {@link SAVED_HEADERS}. */
  savedHeaders?: Iterable<string> | undefined
  /** What another body under a used key is answered. 409. */
  reusedStatus?: number | undefined
  /** The seconds of `Retry-After`. 1. */
  retryAfterS?: number | undefined
  /**
   * How long the application may take to answer a client that has left, in milliseconds. 60,000. Then its key is left
   * unknown, and its `effectStarting` throws.
   */
  abandonMs?: number | undefined
  /**
   * Finds out whether an unknown thing exists: its id, or null when it is proved not to exist. Undefined where it cannot
   * tell, which the client is told.
   */
  settle?:
    | ((request: Request, claim: UnknownClaim) => string | null | undefined | PromiseLike<string | null | undefined>)
    | null
    | undefined
  /**
   * Whether the thing that a replay would name is proved to be deleted; then it is made anew. A read that failed or was
   * denied proves nothing: throw, or answer false.
   */
  isGone?: ((request: Request, resource: string) => boolean | PromiseLike<boolean>) | null | undefined
  /** Answers for a thing of which only the id is known, because it was settled. 200 with `{"resource": …}`. */
  found?: ((request: Request, resource: string) => Found | PromiseLike<Found>) | null | undefined
  /**
   * The key was taken over while the application ran, so that it undoes what it has made. `winner` is what the other has
   * made, null while there is nothing.
   */
  lost?: ((request: Request, own: string, winner: string | null) => unknown) | null | undefined
  /**
   * Is told of each error that the client is not told: of the store, of what could not be said to it, and of these
   * functions where they throw after the application has answered; the client is then answered 500 `idempotency_unknown`.
   */
  onError?: ((error: GallivantError | Error, request: Request) => void) | null | undefined
}

/** What the application finds as `request.idempotency`. Of a request without a key, every call does nothing. */
export interface Creating {
  /** The key; null where there is none. */
  readonly key: string | null
  /** How the right to make the thing came about; null without a key. */
  readonly how: How | null
  /** The id of what was made, where the application says it here; it goes before the option `resource`. */
  resource: string | null
  /**
   * Says that an effect which a retry could double may happen from now on. Where the request then comes to no completed
   * answer, its key answers `idempotency_unknown` until that is settled. Where this throws, the effect must not be started.
   */
  effectStarting(options?: CreateOptions): Promise<void>
  /** Says that the application is still at work. The handler does so every 30 seconds. */
  keepAlive(options?: CreateOptions): Promise<void>
  /** Says that nothing was made after all, also after `effectStarting`: the key is free at once. */
  release(options?: CreateOptions): Promise<void>
}

/** Takes a request, in the manner of Express, or as a hook of Fastify. */
export type IdempotentHandler = (req: any, res: any, next: (error?: any) => any) => void

/** Makes the handler. Throws `GALLIVANT_INPUT` for options that make no sense. */
export function idempotent<Request = any>(options: IdempotentOptions<Request>): IdempotentHandler

/**
 * The headers that are saved and replayed by default: those that say what the body is and where the thing is. Nothing that
 * belongs to one client or one moment, as cookies and dates do, is among them.
 */
export const SAVED_HEADERS: readonly string[]
