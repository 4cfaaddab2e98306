/**
 * The test driver of the execution layer over the Node package: raw steps, driven by a script, one JSON object a line
 * (EX-SEA-09 to EX-SEA-20; `tests/vectors/execution/README.md`). Nothing here judges anything.
 */

import { createInterface } from 'node:readline'
import * as execution from '../../../bindings-node/lib/execution.js'
import { GallivantError } from '../../../bindings-node/lib/index.js'
import { sanitize } from '../../../bindings-node/lib/redaction.js'
import { TestHost } from '../../../bindings-node/lib/testing.js'
import { stringify } from './exact_json.mjs'

const { RawJson } = execution

/** Pauses are numbered from here, so that their questions are none of a machine's. */
const FIRST_PAUSE = 2 ** 40

const STRING_OR_SPACE = /("(?:[^"\\]|\\.)*")|\s+/g

/** A JSON text without white space and needless escapes, its numbers as they came: what a host makes of a value. */
function compact(text) {
  return text.replace(STRING_OR_SPACE, (_, string) => (string === undefined ? '' : JSON.stringify(JSON.parse(string))))
}

/** The members of a JSON object, each as the text that it came as. */
function membersOf(line) {
  const text = compact(line)
  const members = {}
  let depth = 0
  let name = null
  let from = 1
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:,]/g)) {
    if (token === '{' || token === '[') depth += 1
    else if (token === ':' && depth === 1) {
      name = JSON.parse(text.slice(from, index))
      from = index + 1
    } else if ((token === ',' || token === '}') && depth === 1) {
      if (name !== null) members[name] = text.slice(from, index)
      from = index + 1
    }
    if (token === '}' || token === ']') depth -= 1
  }
  return members
}

const FUNCTIONS = {
  checkCursor: ({ cursor }) => execution.checkCursor(cursor),
  gapId: ({ cursor }) => execution.gapId(cursor),
  idempotencyKey: (args) => execution.idempotencyKey(args),
  cancellationKey: (args) => execution.cancellationKey(args),
  runId: (args) => execution.runId(args),
  replayKey: (args) => execution.replayKey(args),
  backoff: (args) => execution.backoff(args),
  intakeReservation: (args) => new RawJson(execution.intakeReservation(args).usd),
  money({ amount, round }) {
    const { nano, usd } = execution.money(JSON.parse(amount.text), JSON.parse(round.text))
    return { nano: String(nano), usd }
  },
  crc32c: ({ text }) => execution.crc32c(text),
  sanitize: ({ value, secrets }) => sanitize(JSON.parse(value.text), JSON.parse(secrets.text)),
  validateManifest: ({ files, tree }) => execution.validateManifest(files, tree),
  publicationNext: ({ checkpoint, facts }) => execution.publicationNext(checkpoint, facts),
  executionLive: ({ value }) => execution.executionLive(value),
  unsubmittedInitialDispatch: ({ entry, ledger }) => execution.unsubmittedInitialDispatch(entry, ledger),
  healthAuthorize: ({ record, now }) => execution.healthAuthorize(record, now),
}

function say(members) {
  const parts = Object.entries(members).map(([name, member]) => (
    `${JSON.stringify(name)}:${member instanceof RawJson ? member.text : stringify(member)}`
  ))
  process.stdout.write(`{${parts.join(',')}}\n`)
}

function sayFailed(done, error) {
  if (!(error instanceof GallivantError)) throw error
  const { code, reason, remedy, message, runId, operationId } = error
  say({ done, error: { code, reason, remedy, message, runId, operationId } })
}

/** What is open: the boundary, its machine, and the calls that run. */
let open = null
const pauses = new Map()
const calls = new Set()
/** A machine that has ended: it judges what belongs to no open one. */
let ended = null

async function begin(done, { root, now, jitter, options, faults }) {
  const given = membersOf(options)
  const transport = given.transport === undefined ? undefined : JSON.parse(given.transport)
  const scripted = () => { throw new Error('the script answers in raw steps') }
  try {
    const machine = new TestHost({
      wallMs: BigInt(now),
      jitter: jitter === undefined ? 1 : Number(jitter),
      points: faults,
      onPause({ point, resume }) {
        const ask = FIRST_PAUSE + pauses.size
        pauses.set(ask, resume)
        say({ ask, port: 'fault', method: point, input: {} })
      },
    })
    const texts = Object.entries(given).map(([name, text]) => [name, name === 'secrets' ? JSON.parse(text) : new RawJson(text)])
    const made = execution.makeExecution({
      ...Object.fromEntries(texts),
      root: JSON.parse(root),
      transport: transport && Object.fromEntries(transport.methods.map((method) => [method, scripted])),
      host: machine.host,
    })
    // At once, because a call may be the next line.
    const closed = close()
    open = { execution: made, machine }
    await closed
    say({ done, ok: true })
  } catch (error) {
    sayFailed(done, error)
  }
}

async function close() {
  const closing = open
  open = null
  for (const call of calls) call.isDropped = true
  calls.clear()
  await closing?.execution.close()
}

async function run(done, method, text) {
  if (method.startsWith('fn:')) {
    const members = membersOf(text)
    const args = Object.fromEntries(Object.entries(members).map(([name, member]) => [name, new RawJson(member)]))
    const pure = FUNCTIONS[method.slice(3)]
    if (pure === undefined) return say({ done, error: { code: 'EXECUTION_INPUT', remedy: 'call a function that there is' } })
    return say({ done, ok: pure(args) })
  }
  const call = { done, isDropped: false, machine: open.execution.machine(method, new RawJson(text)), step: null }
  calls.add(call)
  await went(call, () => call.machine.start())
}

/** Takes a step of a call, and says what came of it. */
async function went(call, take) {
  let step
  try {
    step = await take()
  } catch (error) {
    if (call.isDropped) return
    throw error
  }
  call.step = step
  if (step.kind === 'call') {
    const { id, port, method, inputJson, deadlineAt } = step
    step.signal.addEventListener('abort', () => say({ aborted: id }))
    const input = port === 'transport' ? inputJson.replace(/}$/, `${inputJson === '{}' ? '' : ','}"deadlineAt":${deadlineAt}}`) : inputJson
    return say({ ask: id, port, method, input: new RawJson(input) })
  }
  calls.delete(call)
  ended = call.machine
  if (step.kind === 'failed') sayFailed(call.done, step.error)
  else say({ done: call.done, ok: new RawJson(step.json) })
}

/** Gives what is said about a question to the call that asked it, or else to one that did not. */
async function hear(ask, feed) {
  const asker = [...calls].find(({ step }) => step?.id === ask)
  const judges = asker ?? [...calls][0]
  try {
    if (asker !== undefined) await went(asker, () => feed(asker.machine))
    else await feed(judges?.machine ?? ended)
  } catch (error) {
    if (error.code !== 'EXECUTION_INPUT' || error.reason !== 'reply') throw error
    say({ refused: ask })
  }
}

async function answer(ask, { value, error }) {
  const resume = pauses.get(ask)
  if (resume?.()) return undefined
  return hear(ask, (machine) => {
    if (error === undefined) return machine.reply(ask, value)
    const { kind, message, retryAfterMs, code } = JSON.parse(error)
    return machine.fail(ask, new execution.TransportError(kind, message, { retryAfterMs, code }))
  })
}

async function heard(line) {
  const { cmd, id, ask, ...message } = membersOf(line)
  const [done, question] = [id && JSON.parse(id), ask && JSON.parse(ask)]
  switch (JSON.parse(cmd)) {
    case 'open': return begin(done, message)
    case 'call': return run(done, JSON.parse(message.method), message.args ?? '{}').catch((error) => sayFailed(done, error))
    case 'answer': return answer(question, message)
    case 'sending': return hear(question, (machine) => machine.sending(question))
    case 'clock':
      open.machine.setWallMs(BigInt(message.now))
      return Promise.all([...calls].filter(({ step }) => step?.kind === 'call' && step.deadlineAt <= Number(message.now))
        .map(({ step }) => hear(step.id, (machine) => machine.deadline(step.id))))
    case 'drop':
      await close()
      return say({ done, ok: true })
    default: throw new Error(`no such command: ${cmd}`)
  }
}

const lines = createInterface({ input: process.stdin })
lines.on('line', (line) => {
  heard(line).catch((error) => {
    console.error(error)
    process.exit(1)
  })
})
// What still runs is left as by a crash.
lines.on('close', () => process.exit(0))
