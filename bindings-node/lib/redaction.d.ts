/** Secrets and recognised credentials out of texts, JSON values and streams: `import { Redactor } from 'gallivant/redaction'`. */

/** What stands in the place of whatever was covered. */
export const MARK: '[redacted]'

/** Text or bytes. Half a surrogate pair is refused in a secret and in `text`, and becomes U+FFFD elsewhere. */
export type Bytes = string | Uint8Array

/** What may be set. */
export interface RedactorOptions {
  /** Whether credentials are recognised by their form besides the secrets. True. */
  patterns?: boolean | null | undefined
}

/**
 * Redacts by one set of secrets, which it copies. It never changes. Making one costs more than using it: keep it.
 */
export class Redactor {
  /** Throws `EXECUTION_INPUT` with the reason `secret` for a secret that is empty or no string, by its position. */
  constructor(secrets?: Iterable<Bytes>, options?: RedactorOptions)
  /** The most bytes that a stream holds back. */
  readonly mostHeldBack: number
  /** The text without secrets. A secret that goes on in the next text is found by a stream only. */
  text(text: string): string
  /** Many texts in one call. One text is refused: as a list of its letters it would hide no secret. */
  texts(texts: Iterable<string>): string[]
  /** The bytes without secrets. */
  bytes(bytes: Bytes): Uint8Array
  /**
   * A redacted copy of what `JSON.stringify` takes, and of bigints: strings and keys at any depth. Where two keys of an
   * object become equal, the later one gets `#2`, `#3` and so on behind it.
   */
  value<T>(value: T): T
  /** A text that comes in pieces. */
  stream(): RedactionStream
  /** The same as a `stream.Transform` of Node, whose end hands out the rest. */
  transform(): RedactionTransform
}

/**
 * A text that comes in pieces. What comes out does not depend on how it was cut. What was pushed and not finished is lost:
 * call `finish` on every way out, or use `transform`.
 */
export class RedactionStream {
  private constructor()
  /** How many bytes are held back now. */
  readonly heldBack: number
  /** Takes a piece and gives what is certain by now. */
  push(piece: Bytes): Uint8Array
  /** Takes many pieces in one call. */
  pushAll(pieces: Iterable<Bytes>): Uint8Array
  /** The text ends here: gives the rest. The next piece begins another text. */
  finish(): Uint8Array
}

/** What can be said of a `stream.Transform` without the types of Node. */
export interface RedactionTransform {
  readable: boolean
  writable: boolean
  write(piece: Bytes): boolean
  end(): this
  pipe<T>(to: T): T
  on(event: string, listener: (...values: never[]) => void): this
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array>
}

/** A redacted copy of a JSON value or a string, by recognised credentials and these secrets; empty ones are ignored. */
export function sanitize<T>(value: T, secrets?: Iterable<Bytes>): T
