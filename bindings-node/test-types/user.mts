/** A typed program of a user, in ESM. It is compiled with `--strict` and run; `check.sh` does both. */

import {
  Fingerprint, Fleet, GallivantError, IdempotencyStore, Reader, SESSION_VARIABLES, Session, SessionEnvironment, Writer, claim, claimSync, claimWrapperless,
  claimWrapperlessSync, defaultOptions, errorTable, identifyProcess, mintToken, observeHook, observeHookSync, readFleet,
  readFleetSync, version, watch, watchFleet,
} from 'gallivant'
import type {
  AsyncProbe, Begin, Change, Claim, ClaimView, ErrorCode, FinishedClaim, Explanation, Extension, FleetChange, FleetView, HarnessState, HookReport, Host, Observation, OwnershipGuard, ProcessIdentity, Report,
  Snapshot, StateRecord, Tick, Ticket, Watch,
} from 'gallivant'
import {
  EXECUTION_LIMITS, HealthStore, PROVIDER_STATES, RawJson, TransportError, checkTransport, dispatchNotSentError, executionRegistry, executionRunner, fittingEvents,
  makeExecution, nanoUsd, runDispatchLane, runProgressLane, unresolved,
} from 'gallivant/execution'
import type { Capability, Dispatched, Execution, Finding, Machine, Outcome, ProviderObservation, ProviderResult, ProviderState, Report as Pass, Step, Transport, UnresolvedOperation } from 'gallivant/execution'
import { reconcileExecutionResult } from 'gallivant/execution-result'
import type { Publication, Publisher } from 'gallivant/execution-result'
import { SAVED_HEADERS, idempotent } from 'gallivant/http'
import type { Creating, IdempotentHandler } from 'gallivant/http'
import { DisplayWindow, HEARTBEAT_MS, Journal, LogReader, Projection, check, pipeReplay, readRunResult, readRunResultJsonSync, replay, retentionCandidatesSync, serverSentEvent, split } from 'gallivant/journal'
import type { Appended, Checked, Frame, GapReason, JournalEvent, Replay, ReplayEnd, Row } from 'gallivant/journal'
import { GallivantPlugin } from 'gallivant/opencode'
import type { GallivantHooks } from 'gallivant/opencode'
import { MARK, Redactor, sanitize } from 'gallivant/redaction'
import { TestHost, provokePanic } from 'gallivant/testing'
import type { Fault } from 'gallivant/testing'

/** Fails to compile unless both are the same type. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false
function same<A, B>(_: Same<A, B>): void {}

declare const process: { argv: string[], env: Record<string, string | undefined>, pid: number }
declare const console: { log(...parts: unknown[]): void }

same<Awaited<ReturnType<typeof GallivantPlugin>>, GallivantHooks>(true)

const redactor = new Redactor(['hunter2!', new Uint8Array([1, 2])], { patterns: false })
same<typeof MARK, '[redacted]'>(true)
same<ReturnType<typeof redactor.text>, string>(true)
same<ReturnType<ReturnType<typeof redactor.stream>['finish']>, Uint8Array>(true)
const copied: { a: bigint } = sanitize({ a: 1n }, ['hunter2!'])
if (copied.a !== 1n || redactor.text('hunter2!') !== MARK) throw new Error('redaction')

const directory: string = process.argv[2]!
const token: string = mintToken()
const made: Claim = await claim(directory, { agent: 'a', harness: 'claude', token }, { lockWaitMs: 1000 })
same<typeof made.sequence, bigint>(true)
same<Awaited<ReturnType<typeof claimWrapperless>>, Claim | null>(true)
same<ReturnType<typeof claimWrapperlessSync>, Claim | null>(true)

const writer = new Writer(directory, { agent: 'a', harness: 'claude', token, ptySession: 'p', sequence: made.sequence })
const seen: Observation = { state: 'active', blockedOn: 'human', ask: 'permission', reason: null }
const report: Report = await writer.observe(seen, { signal: AbortSignal.timeout(10_000) })
if (report.outcome === 'refused' && report.refusal === 'superseded') throw new Error('another session has claimed')
same<typeof report.floorFailure, GallivantError | null>(true)
writer.interrupt()
const owned = await writer.withCurrentOwnership(async (guard: OwnershipGuard) => guard.sequence)
if (owned.owned) same<typeof owned.value, bigint>(true)
else same<typeof owned.value, undefined>(true)

const reader = new Reader(new URL(`file://${directory}`))
const probe: AsyncProbe = async (record: Readonly<StateRecord>) => record.seq > 0n
const state: HarnessState | null = await reader.read({ probe })
const snapshot: Snapshot = reader.snapshotSync()
same<ReturnType<typeof snapshot.derive>, HarnessState | null>(true)
const ms: bigint | null | undefined = state?.validUntilMs

const explanation: Explanation = await reader.explain({ probe })
same<typeof explanation.clock.awakeMs, bigint | null>(true)
const told: unknown[] = [`${explanation}`, snapshot.explain({ nowMs: 5 }).rows[0]?.clause]
// @ts-expect-error an explanation shows no token
told.push(explanation.record?.incarnation)
const extension: Readonly<Extension> | null | undefined = snapshot.record?.extension
told.push(extension?.children.length, extension?.process?.pid)
const screen = new Writer(directory, { agent: 'a', harness: 'claude', token, sequence: made.sequence, evidence: 'screen' })
same<ReturnType<typeof screen.noteChildSync>, Report>(true)
await writer.noteChild('c1', 'started')

const fleet = new Fleet(directory, { maxDepth: 2, staleMs: 1000n })
const view: FleetView = await fleet.read({ probe: 'lease' })
for (const { path, state } of view.entries) told.push(path, state.state)
same<ReturnType<typeof readFleetSync>, FleetView>(true)
same<Awaited<ReturnType<typeof readFleet>>, FleetView>(true)
const watching: Watch<Change> = watch(directory, { probe, signal: AbortSignal.timeout(10_000) })
for await (const { state, noticing } of watching.unref().ref()) {
  same<typeof state, HarnessState | null>(true)
  told.push(noticing)
  break
}
{
  await using all: Watch<FleetChange> = watchFleet(directory, { maxRecords: 5, probe: 'lease', settleMs: 1 })
  const { value, done } = await all.next()
  if (done !== true) same<typeof value, FleetChange>(true)
}

const machine = new TestHost({ wallMs: 5n, faults: [{ on: 'rename', do: 'error', errno: 'EIO' } satisfies Fault] })
const host: Host = machine.host
const simulated = new Reader(directory, { host, staleMs: 10n ** 15n })

{
  using session = Session.startSync(directory, { agent: 'a', harness: 'claude' })
  const tick: Tick = session.heartbeatIfDueSync()
  if (tick.outcome === 'not-due') same<typeof tick.dueAtMs, bigint>(true)
  const environment: SessionEnvironment = session.environment()
  const hook: HookReport = await observeHook('claude', '{}', { session: environment })
  if (hook.kind === 'failed') console.log(hook.error?.code)
  observeHookSync('codex', new Uint8Array(2), { environ: process.env })
}
{
  await using session = await Session.start(directory, { agent: 'a', harness: 'claude' })
  const attached: ProcessIdentity = await session.attach(process.pid)
  same<typeof attached.start, bigint>(true)
}

{
  await using store = await IdempotencyStore.open(`${directory}/idempotency.db`, { windowMs: 60_000n, busyMs: 5000 })
  const begin: Begin = await store.begin('things.create', ['org', 'ws'], 'k-1', '{}', { deadlineMs: 1000 })
  if (begin.kind !== 'create') throw new Error('the key is known')
  await using reservation = begin
  await reservation.effectStarting()
  const again = store.beginSync('things.create', ['org', 'ws'], 'k-1', Fingerprint.of('{}'))
  if (again.kind === 'in_progress') same<typeof again, Ticket>(true)
  await reservation.complete('r-1', new Uint8Array(2), { signal: AbortSignal.timeout(10_000) })
  const replay = await store.begin('things.create', ['org', 'ws'], 'k-1', await Fingerprint.from(['{', '}']))
  if (replay.kind !== 'replay') throw new Error('it is not finished')
  same<typeof replay, FinishedClaim>(true)
  same<typeof replay.completedMs, bigint>(true)
  same<Awaited<ReturnType<typeof store.inspect>>, ClaimView | null>(true)
  const { keyedCreates, error } = await store.capability()
  told.push(keyedCreates, error?.file, error?.resource, (await store.sweep()).removed satisfies bigint)
  const handler: IdempotentHandler = idempotent<{ user: string, idempotency: Creating }>({
    store, operation: 'things.create', scope: ({ user }) => [user], settle: () => null, found: (_, resource) => ({ status: 200, body: resource }),
  })
  told.push(handler.length, SAVED_HEADERS[0])
}

{
  const owner = { taskId: 't', runId: 'r', provider: 'p', jobId: null }
  await using journal = await Journal.open(directory, owner, redactor, { host: undefined })
  const page: JournalEvent[] = [
    { id: 'e1', provenance: 'provider', type: 'message', data: { n: 2n ** 70n }, providerSequence: 1n, timestamp: 5 },
    { id: 'g1', provenance: 'local', reason: 'provider-gap' },
  ]
  journal.appendSync('[]')
  const appended: Appended = await journal.append(page, { signal: AbortSignal.timeout(10_000) })
  same<typeof appended.end.sequence, bigint>(true)
  {
    using projection = Projection.openSync(directory)
    told.push(projection.catchUpSync().next, (await projection.trim(10n ** 6n)).bytes)
  }
  const lines = await LogReader.open(directory)
  const row: Row | undefined = lines.tailSync().rows[0]
  if (row?.kind === 'line') same<typeof row.text, string>(true)
  else if (row !== undefined) same<typeof row.reason, GapReason | null>(true)
  const window = new DisplayWindow()
  if (row !== undefined) window.push(...split(row))
  told.push(window.paint(), window.counts.live, (await lines.lines({ after: '1', limit: 5 })).after, HEARTBEAT_MS)
  const frames: Replay = replay(directory, { lastEventId: null })
  for await (const frame of frames) {
    same<typeof frame, Frame>(true)
    told.push(...split(JSON.parse(frame.data)), serverSentEvent(frame), readRunResultJsonSync(directory))
    break
  }
  const checked: Checked = await check(directory)
  told.push(checked.gaps[0]?.bytes.from, (await readRunResult(directory))?.cost, retentionCandidatesSync(directory).length)
  const end = (response: Parameters<typeof pipeReplay>[1]): Promise<ReplayEnd> => pipeReplay(frames, response)
  told.push(end.length, (await frames.nextFrame({ timeoutMs: 1n }))?.id)
}

const capabilities: Capability = {
  provider: 'p', transport: 'rest', location: 'remote', newDispatch: { available: true, reason: null },
  authentication: { scheme: 'bearer', secretNames: ['KEY'] }, environments: { required: false, allowed: null },
  models: 'refused', policies: { required: false, allowed: [] }, preparation: null, continuation: 'none',
  observability: 'states', cancel: true, interrupt: false, cost: { reports: false, hardCap: false },
}
const transport: Transport = {
  async submit(input, { signal, deadlineAt, limits, sending }) {
    same<typeof signal, AbortSignal>(true)
    same<typeof deadlineAt, number>(true)
    if (limits.deadlineMs > 1e9) throw dispatchNotSentError('offline', input.idempotencyKey)
    sending()
    if (signal.aborted) throw new TransportError('rate', 'later', { retryAfterMs: 1000 })
    return { providerJobId: 'job-1', turnId: 'turn-1' }
  },
  inspect: async (input) => new RawJson(`{"providerJobId":${JSON.stringify(input.providerJobId)}}`),
  collect: () => null,
  async cancel() { return '{"confirmed":true}' },
}
const turnSeen: ProviderObservation = {
  providerJobId: 'job-1', turnId: 'turn-1', state: 'running', observedAt: Date.now(), cursor: 2n ** 70n, gap: { reason: 'cut' },
  events: [{ eventId: 'e-1', type: 'output', sequence: 1, timestamp: null, data: { text: 'x' } }],
}
const whole: Transport = {
  submit: () => ({ providerJobId: 'job-1', turnId: 'turn-1', sessionId: null }),
  inspect: async ({ cursor, startedAt }, { limits }) => ({ ...turnSeen, cursor, observedAt: Math.max(startedAt, fittingEvents(turnSeen.events ?? [], limits)) }),
  collect: ({ inputHead }): ProviderResult => ({ providerJobId: 'job-1', turnId: 'turn-1', inputHead, outcome: { finished: true, ok: true, cost: null, denials: [] }, text: 'done' }),
  lookup: () => null,
  // @ts-expect-error a stop says whether it is confirmed
  cancel: () => ({ state: 'cancelled' }),
}
// @ts-expect-error no state of a run is called so
const marvellous: ProviderObservation = { ...turnSeen, state: 'marvellous' }
// @ts-expect-error a time is a number of milliseconds
const yesterday: ProviderObservation = { ...turnSeen, observedAt: 'yesterday' }
same<typeof marvellous, typeof yesterday>(true)
{
  await using execution: Execution = makeExecution({
    root: `${directory}/task`, taskId: 't', provider: 'p', account: 'a', capabilities, transport, budgetUsd: 8, health: 'external', secrets: new Set(['hunter2!']),
  })
  const done: Dispatched = await execution.submit({ operationId: 'op-1', prompt: 'x', reservationUsd: 0.5, workflow: { n: 2n ** 70n } }, { signal: AbortSignal.timeout(10_000) })
  same<typeof done.acceptance, 'unknown' | 'accepted' | 'absent'>(true)
  const pass: Pass = await execution.reconcile({ force: true })
  const outcome: Outcome | null = await execution.outcome(done.runId)
  same<typeof pass.state, ProviderState | null>(true)
  same<Awaited<ReturnType<typeof unresolved>>, UnresolvedOperation[]>(true)
  const machine: Machine = execution.machine('cancel', { reason: 'enough' })
  const step: Step = await machine.start()
  if (step.kind === 'call') told.push((await machine.reply(step.id, { confirmed: true })).kind)
  const health = new HealthStore(`${directory}/health`, { scopes: [{ provider: 'p', account: 'a' }] })
  for (const scope of await health.due()) {
    using refresh = await health.begin(scope)
    told.push((await refresh?.record({ ok: true, evidence: { seen: 1n } }))?.nextAttemptAt)
  }
  const [again] = await runDispatchLane(health, [{ scope: { provider: 'p', account: 'a' }, retry: () => execution.inspect() }], { timeoutMs: 1 })
  if (again?.status === 'fulfilled') told.push(again.value.live)
  same<Awaited<ReturnType<typeof checkTransport>>, Finding[]>(true)
  told.push((await runProgressLane([execution], { concurrency: 2 })).length)
  const registry = executionRegistry()
  registry.register(capabilities, { transport })
  registry.register({ ...capabilities, provider: 'q' }, { transport: whole })
  told.push(outcome?.costNanoUsd, nanoUsd('0.1') satisfies bigint, EXECUTION_LIMITS[0]?.name, PROVIDER_STATES.length)
}

try {
  claimSync(directory, { agent: 'a', harness: 'c', token: '' })
} catch (error) {
  if (!(error instanceof GallivantError)) throw error
  const code: ErrorCode = error.code
  same<typeof error.kind extends string ? true : false, true>(true)
  same<typeof error.runId, string | null>(true)
  same<typeof error.operationId, string | null>(true)
  if (code === 'HARNESS_STATE_EMPTY_TOKEN') console.log('typed', version, ms, identifyProcess(1) === null, told.length)
}

/** Compiled and never called: each line below is a mistake that the types have to find. */
export async function mistakes(): Promise<void> {
  // @ts-expect-error readers derive unknown, nobody observes it
  await writer.observe({ state: 'unknown' })
  // @ts-expect-error a misspelt member
  await writer.observe({ state: 'idle', blocked_on: 'human' })
  // @ts-expect-error a word that there is not
  await writer.observe({ state: 'idle', ask: 'coffee' })
  // @ts-expect-error a sequence is no string
  new Writer(directory, { agent: 'a', harness: 'c', token, sequence: '1' })
  // @ts-expect-error a token is needed
  await claim(directory, { agent: 'a', harness: 'c' })
  // @ts-expect-error a synchronous read cannot wait for a probe
  reader.readSync({ probe: async () => true as const })
  // @ts-expect-error no such probe
  await reader.read({ probe: 'leash' })
  // @ts-expect-error a promise is no report
  const early: Report = writer.observe({ state: 'idle' })
  // @ts-expect-error a session is begun by start
  new Session()
  // @ts-expect-error errors are made by the library
  new GallivantError()
  // @ts-expect-error 64-bit numbers are bigints
  const since: number | null | undefined = state?.sinceMs
  // @ts-expect-error a code that there is not
  const code: ErrorCode = 'HARNESS_STATE_TIRED'
  // @ts-expect-error what was found does not change
  snapshot.record!.seq = 1n
  // @ts-expect-error a host is made by a TestHost
  new Reader(directory, { host: {} })
  // @ts-expect-error a fleet asks nobody but the leases
  watchFleet(directory, { probe: () => true })
  // @ts-expect-error no such step
  await writer.noteChild('c1', 'paused')
  // @ts-expect-error no such evidence
  new Writer(directory, { agent: 'a', harness: 'c', token, evidence: 'rumour' })
  // @ts-expect-error a watch is made by a function
  new Watch()
  const store = IdempotencyStore.openSync(directory)
  // @ts-expect-error a scope is a list
  await store.begin('things.create', 'org', 'k-1', '{}')
  const again = await store.begin('things.create', ['org'], 'k-1', '{}')
  // @ts-expect-error only null says that it does not exist
  if (again.kind === 'unknown') await again.settle()
  // @ts-expect-error what has to be made cannot be replayed
  if (again.kind === 'create') again.answer
  // @ts-expect-error a store is opened
  new IdempotencyStore()
  // @ts-expect-error whom a key belongs to has no default
  idempotent({ store, operation: 'things.create' })
  // @ts-expect-error one string is no list of secrets
  new Redactor('secret', { patterns: 1 })
  // @ts-expect-error a stream is opened by a redactor
  new Redactor().stream().push(7)
  // @ts-expect-error a journal is opened
  new Journal()
  // @ts-expect-error whose journal it is
  await Journal.open(directory, redactor)
  const journal = Journal.openSync(directory, { taskId: 't', runId: 'r', provider: 'p' }, redactor)
  // @ts-expect-error an event says who says it
  await journal.append([{ id: 'e', type: 'm' }])
  // @ts-expect-error no such reason
  await journal.append([{ id: 'e', provenance: 'local', reason: 'holes' }])
  // @ts-expect-error a gap has no data
  await journal.append([{ id: 'e', provenance: 'local', reason: 'retained', data: 1 }])
  // @ts-expect-error an id is text
  replay(directory, { lastEventId: 7 })
  // @ts-expect-error a transport can be asked what it has done
  makeExecution({ root: directory, taskId: 't', provider: 'p', account: 'a', capabilities, transport: { submit: transport.submit } })
  // @ts-expect-error a failure says what to do
  await new HealthStore(directory).record({ provider: 'p', account: 'a' }, { ok: false, code: 'auth' })
  // @ts-expect-error no such kind
  new TransportError('not_sent', 'x')
  // @ts-expect-error whose records count has no default
  await executionRunner(directory, { taskId: 't', provider: 'p', account: 'a', capabilities, transport })
  const plan = {
    repo: 'org/repo', branch: 'task/1', base: 'main', author: { name: 'n', email: 'n@example.org' },
    verification: { commands: ['make test'], source: 'make test', approvedHash: '' },
  }
  const publisher: Publisher = {
    async findPullRequest({ branch }, { signal }) { return signal.aborted ? null : { branch } },
    async createPullRequest({ title, head }) { return { title, head } },
  }
  const task = makeExecution({ root: directory, taskId: 't', provider: 'p', account: 'a', capabilities, transport })
  const published: Publication = await reconcileExecutionResult(task, 'run-1', {
    plan, publisher, checkout: directory, scratch: new URL('file:///tmp'), entryStopped: () => false, environment: process.env,
    git: { settings: ['http.version=HTTP/1.1'] }, signal: AbortSignal.timeout(10_000),
  })
  if (published.status === 'published') same<typeof published.appliedHead, string>(true)
  // @ts-expect-error what has nothing to publish has no pull request
  if (published.status === 'nothing') published.pr
  // @ts-expect-error whether the entry was stopped is asked of you
  await reconcileExecutionResult(task, 'run-1', { plan, publisher, checkout: directory, scratch: directory })
  // @ts-expect-error a step is fed by its number
  await makeExecution({ root: directory, taskId: 't', provider: 'p', account: 'a', capabilities, transport }).machine('submit').reply('1', null)
  // @ts-expect-error a response is written to
  await pipeReplay(directory, {})
  // @ts-expect-error a fault does something
  new TestHost({ faults: [{ at: 1 }] })
  await provokePanic.inTask('x')
  console.log(early, since, code, simulated, defaultOptions(), errorTable(), SESSION_VARIABLES)
}
