/**
 * What importing the package costs, in processor time against a process that imports nothing, over many runs that take
 * turns. Run where `gallivant` is installed. A measurement and no test: it tells, and fails nothing.
 *
 * ESM is compared with a process that imports an empty ES module from a file, because Node's own loader for these costs
 * some 6 % of an empty process, whatever is imported.
 */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const ROUNDS = 60
const BAR = 1.08

const directory = mkdtempSync(join(tmpdir(), 'gallivant-'))
const empty = join(directory, 'empty.mjs')
writeFileSync(empty, '')

const esm = (text) => ['--input-type=module', '-e', text]
const programs = {
  nothing: ['-e', '0'],
  'require of the package': ['-e', "require('gallivant')"],
  'import of an empty module': esm(`import ${JSON.stringify(empty)}`),
  'import of the package': esm("import { Reader } from 'gallivant'"),
  'first call': ['-e', "require('gallivant').mintToken()"],
}

/** The processor time of this process's ended children, in clock ticks. */
function childTicks() {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return Number(fields[13]) + Number(fields[14])
}

/** The processor time of each program over all rounds. */
function measure() {
  const spent = Object.fromEntries(Object.keys(programs).map((name) => [name, 0]))
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, args] of Object.entries(programs)) {
      const before = childTicks()
      const { status } = spawnSync(process.execPath, args, { stdio: 'ignore' })
      if (status !== 0) throw new Error(`${name} ended with ${status}`)
      spent[name] += childTicks() - before
    }
  }
  return spent
}

function tell(spent) {
  const compare = (name, base, bar) => {
    const ratio = spent[name] / spent[base]
    console.log(`${name}: ${ratio.toFixed(3)} of ${base}${bar === undefined ? '' : `, the bar is ${bar}`}`)
  }
  compare('require of the package', 'nothing', BAR)
  compare('import of the package', 'import of an empty module', BAR)
  compare('import of an empty module', 'nothing')
  compare('import of the package', 'nothing')
  compare('first call', 'nothing')
}

tell(measure())
rmSync(directory, { recursive: true })
