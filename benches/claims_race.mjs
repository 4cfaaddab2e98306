/**
 * Processes on one key, beside the same with better-sqlite3: `node benches/claims_race.mjs [PROCESSES ROUNDS FOLDER]`.
 *
 * In a round every process asks for one fresh key at once. One gets it and completes it, the others wait for the answer
 * and read it. A round lasts from the first question to the last answer, on the clock that all processes share; rounds
 * of both take turns, and the median of the ratios is told.
 *
 * The peer does the same two commits: `BEGIN IMMEDIATE`, look, insert, `COMMIT`, then an update. Who finds the key
 * reserved looks again every millisecond, the shortest that a timer of Node sleeps. Its waiting for the write lock is
 * SQLite's busy handler, as better-sqlite3 sets it. It is fetched by npm into `target/peers` where it is not there yet.
 *
 * Beside both stand two rounds below which no side can be: one in which nobody does anything, which is what waking so many
 * processes takes; and one in which each hashes the key and looks once by the peer, where everything is finished already.
 */
import { execFileSync, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const PEERS = path.join(ROOT, 'target/peers');
const BETTER_SQLITE3 = 'better-sqlite3@11.10.0';
const BODY = Buffer.from('{"name":"worker","model":"large"}');
const ANSWER = Buffer.alloc(300, 'a');
const SCOPE = ['organisation', 'workspace'];

/** The library: asks, and waits where somebody else was first; with promises and on this thread. */
async function openLibrary(folder) {
  const { IdempotencyStore } = createRequire(import.meta.url)(path.join(ROOT, 'bindings-node'));
  const store = await IdempotencyStore.open(path.join(folder, 'library.db'));
  const read = (begun) => {
    if (begun.kind !== 'replay' || !ANSWER.equals(begun.answer)) throw new Error(begun.kind);
    return false;
  };
  return {
    async awaited(key) {
      let begun = await store.begin('harnesses.create', SCOPE, key, BODY);
      if (begun.kind === 'in_progress') begun = await begun.wait({ deadlineMs: 10_000 });
      if (begun.kind !== 'create') return read(begun);
      await begun.complete('resource-1', ANSWER);
      return true;
    },
    async sync(key) {
      let begun = store.beginSync('harnesses.create', SCOPE, key, BODY);
      if (begun.kind === 'in_progress') begun = begun.waitSync({ deadlineMs: 10_000 });
      if (begun.kind !== 'create') return read(begun);
      begun.completeSync('resource-1', ANSWER);
      return true;
    },
  };
}

function openPeer(folder) {
  const Database = createRequire(path.join(PEERS, 'x.js'))('better-sqlite3');
  const database = new Database(path.join(folder, 'peer.db'));
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = FULL');
  database.exec('CREATE TABLE IF NOT EXISTS claims (name BLOB PRIMARY KEY, state INTEGER, answer BLOB)');
  const look = database.prepare('SELECT state, answer FROM claims WHERE name = ?');
  const insert = database.prepare('INSERT INTO claims (name, state) VALUES (?, 1)');
  const update = database.prepare('UPDATE claims SET state = 3, answer = ? WHERE name = ?');
  const begin = database.transaction((name) => {
    const found = look.get(name);
    if (found === undefined) insert.run(name);
    return found;
  });
  const nameOf = (key) => createHash('sha256').update(key).digest();
  const looking = (key) => ANSWER.equals(look.get(nameOf(key)).answer);
  const peer = async (key) => {
    const name = nameOf(key);
    let found = begin.immediate(name);
    if (found === undefined) {
      update.run(ANSWER, name);
      return true;
    }
    while (found.state !== 3) {
      await sleep(1);
      found = look.get(name);
    }
    if (!ANSWER.equals(found.answer)) throw new Error('another answer');
    return false;
  };
  return { peer, looking };
}

async function child(folder) {
  const { peer, looking } = openPeer(folder);
  const sides = {
    ...(await openLibrary(folder)), peer, waking: (_, isFirst) => isFirst,
    looking: (key, isFirst) => looking(key.replace('looking', 'peer')) && isFirst,
  };
  const nobody = new Int32Array(new SharedArrayBuffer(4));
  process.on('message', async ({ side, key, at, isFirst }) => {
    // Asleep until all have their message.
    Atomics.wait(nobody, 0, 0, Number(BigInt(at) - process.hrtime.bigint()) / 1e6);
    const began = process.hrtime.bigint();
    const created = await sides[side](key, isFirst);
    const ended = process.hrtime.bigint();
    process.send({ began: String(began), ended: String(ended), created });
  });
  process.send('ready');
}

const next = (one) =>
  new Promise((resolve, reject) => {
    one.removeAllListeners('message').removeAllListeners('exit');
    one.once('message', resolve);
    one.once('exit', () => reject(new Error('a process ended')));
  });

async function round(children, side, key) {
  const answers = children.map(next);
  const at = String(process.hrtime.bigint() + 5_000_000n);
  children.forEach((one, number) => one.send({ side, key, at, isFirst: number === 0 }));
  const told = await Promise.all(answers);
  const created = told.filter((one) => one.created).length;
  if (created !== 1) throw new Error(`${created} creates of one key`);
  const first = told.map((one) => BigInt(one.began)).reduce((a, b) => (a < b ? a : b));
  const last = told.map((one) => BigInt(one.ended)).reduce((a, b) => (a > b ? a : b));
  return Number(last - first) / 1000;
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];

async function main(processes = '8', rounds = '200', folder = '/dev/shm') {
  if (!existsSync(path.join(PEERS, 'node_modules/better-sqlite3/build/Release/better_sqlite3.node'))) {
    mkdirSync(PEERS, { recursive: true });
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--prefix', PEERS, BETTER_SQLITE3], { stdio: 'inherit' });
  }
  const home = mkdtempSync(path.join(folder, 'gallivant-race-'));
  const children = Array.from({ length: Number(processes) }, () => fork(fileURLToPath(import.meta.url), ['child', home]));
  try {
    // One at a time: all of them at once set the peer's journal mode, which its busy handler does not wait for.
    for (const one of children) await next(one);
    const [ours, floors] = [['awaited', 'sync'], ['waking', 'looking']];
    const listsOf = (sides) => Object.fromEntries(sides.map((side) => [side, []]));
    // The peer's round comes before the one that looks at what it left.
    const [times, ratios] = [listsOf(['peer', ...ours, ...floors]), listsOf([...ours, ...floors])];
    for (let turn = -10; turn < Number(rounds); turn += 1) {
      const took = {};
      for (const side of Object.keys(times)) took[side] = await round(children, side, `${side}-${turn}`);
      if (turn < 0) continue;
      for (const side of Object.keys(times)) times[side].push(took[side]);
      for (const side of Object.keys(ratios)) ratios[side].push(took[side] / took.peer);
    }
    for (const side of Object.keys(ratios)) {
      console.log(
        `${processes} processes on one key, ${folder}, ${side}: ${median(ratios[side]).toFixed(2)} x better-sqlite3${floors.includes(side) ? '' : ' (0.4)'}, ` +
          `${median(times[side]).toFixed(0)} us by ${median(times.peer).toFixed(0)} us`,
      );
    }
  } finally {
    for (const one of children) one.kill();
    rmSync(home, { recursive: true });
  }
}

if (process.argv[2] === 'child') await child(process.argv[3]);
else await main(...process.argv.slice(2));
