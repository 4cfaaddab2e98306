'use strict'
/** What providers can do, and the transports that come with their records (EX-CAP). */

const args = require('./arguments.js')
const { methodsOf } = require('./execution_driver.js')
const { jsonOf } = require('./execution_json.js')
const { inspectable } = require('./inspect.js')
const { valueOf } = require('./json.js')
const { NATIVE, callSync, native } = require('./native.js')

/** Marks a construction from the inside. */
const FROM = Symbol('from')

class ExecutionRegistry {
  #native
  #transports = new Map()

  constructor(from) {
    if (from !== FROM) throw new TypeError('a registry is made by executionRegistry')
    this.#native = callSync(() => native.NativeRegistry.open())
  }

  get [NATIVE]() { return this.#native }

  register(record, options) {
    const { adapter, transport, secrets } = adapterOf(options)
    const text = jsonOf('record', record)
    const made = new RegisteredCapability(FROM, callSync(() => this.#native.register(text, adapter, secrets)))
    return this.#keep(made, transport)
  }

  attach(provider, options) {
    const { adapter, transport, secrets } = adapterOf(options)
    if (adapter === undefined) throw args.wrong('options', 'neither a transport nor a runner')
    const name = args.text('provider', provider)
    const made = new RegisteredCapability(FROM, callSync(() => this.#native.attach(name, adapter, secrets)))
    return this.#keep(made, transport)
  }

  capabilitiesFor(provider) {
    const name = args.text('provider', provider)
    return new RegisteredCapability(FROM, callSync(() => this.#native.capabilitiesFor(name)))
  }

  capabilities() { return valueOf(callSync(() => this.#native.capabilities())) }

  /** The transport of a provider, or null. */
  transportOf(provider) { return this.#transports.get(provider) ?? null }

  #keep(made, transport) {
    if (transport !== undefined) this.#transports.set(made.record.provider, transport)
    return made
  }

  static { inspectable(this.prototype, 'ExecutionRegistry', (registry) => ({ providers: registry.capabilities().map(({ provider }) => provider) })) }
}

class RegisteredCapability {
  #native

  constructor(from, registered) {
    if (from !== FROM) throw new TypeError('a record is registered in a registry')
    this.#native = registered
    Object.freeze(this)
  }

  get [NATIVE]() { return this.#native }
  get record() { return valueOf(callSync(() => this.#native.record())) }

  static { inspectable(this.prototype, 'RegisteredCapability', ({ record }) => record) }
}

function adapterOf(options) {
  const given = args.object('options', options, true)
  args.only('options', given, ['transport', 'runner', 'secrets'])
  const { transport, runner } = given
  const secrets = args.list('options.secrets', given.secrets ?? []).map((secret) => args.text('secret', secret))
  if (transport !== undefined && runner !== undefined) throw args.wrong('options', 'both a transport and a runner')
  if (transport !== undefined) return { adapter: { methods: methodsOf(transport) }, transport, secrets }
  if (runner === undefined) return { adapter: undefined, transport: undefined, secrets }
  const parts = args.object('options.runner', runner)
  args.only('options.runner', parts, ['render', 'configure', 'minimumVersion'])
  const adapter = {
    render: parts.render === undefined ? undefined : args.flag('render', parts.render),
    configure: parts.configure === undefined ? undefined : args.flag('configure', parts.configure),
    minimumVersion: args.optionalText('minimumVersion', parts.minimumVersion),
  }
  return { adapter, transport: undefined, secrets }
}

function executionRegistry() { return new ExecutionRegistry(FROM) }

module.exports = { ExecutionRegistry, RegisteredCapability, executionRegistry }
