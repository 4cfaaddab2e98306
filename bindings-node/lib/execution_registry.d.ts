/** The part of `gallivant/execution` about what providers can do. */

import type { RawJson, Transport } from './execution.js'

/** What a provider can do (EX-CAP-02). */
export interface Capability {
  provider: string
  transport: string
  location: 'local' | 'remote'
  newDispatch: { available: boolean, reason: string | null }
  authentication: { scheme: string, secretNames: readonly string[] }
  environments: { required: boolean, allowed: readonly string[] | null }
  models: 'native' | 'required' | 'refused'
  policies: { required: boolean, allowed: readonly string[] }
  preparation: {
    version: number, boundary: string, authority: string, environment: unknown, render?: boolean, configure?: boolean, minimumVersion?: string
  } | null
  continuation: 'native' | 'successor' | 'none'
  observability: 'events' | 'states' | 'none'
  cancel: boolean
  interrupt: boolean
  cost: { reports: boolean, hardCap: boolean }
  qualification?: unknown
}

/** What comes with a record: a transport, or what the local runner brings. */
export interface AdapterOptions {
  transport?: Transport | undefined
  runner?: { render?: boolean | undefined, configure?: boolean | undefined, minimumVersion?: string | undefined } | undefined
  /** Values that are secret. A record that holds one is refused. */
  secrets?: Iterable<string> | undefined
}

/** The one place where it stands what each provider can do, the shipped records included. It is made by `executionRegistry`. */
export class ExecutionRegistry {
  private constructor()
  /** Adds a record. Throws `EXECUTION_CAPABILITY` for a name that is there, and for an available record without an adapter. */
  register(record: Capability | RawJson, options?: AdapterOptions): RegisteredCapability
  /** Gives an adapter to a record that has none, such as a shipped one. */
  attach(provider: string, options: AdapterOptions): RegisteredCapability
  /** The record of a provider, by its exact name. Throws `EXECUTION_CAPABILITY` with the reason `unavailable`. */
  capabilitiesFor(provider: string): RegisteredCapability
  /** All records as they stand now, copied. */
  capabilities(): Capability[]
  /** The transport that came with a provider's record, or null. */
  transportOf(provider: string): Transport | null
}
/** A registry of its own with the shipped records, none of which has an adapter yet. */
export function executionRegistry(): ExecutionRegistry

/** A record in its registry. */
export class RegisteredCapability {
  private constructor()
  /** The record as it stands now, copied. */
  readonly record: Capability
}
