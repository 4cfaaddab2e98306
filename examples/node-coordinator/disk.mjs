/**
 * Files that are there as a whole or not at all, and stay once they are told of. A name is durable when its directory is, so that
 * each of these syncs both.
 */

import { randomUUID } from 'node:crypto'
import { link, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

/** What a file of JSON holds, or null where there is none. */
export async function readJson(path) {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    if (error.code === 'ENOENT') return null
    throw error
  }
}

/** Writes a file whose name nobody looks for yet. */
export async function writeDurably(path, text) {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * Makes a file of JSON unless one of this name is there, whoever makes it at the same moment, and gives what stands there then.
 * After a failure there may be one.
 */
export async function makeOnce(path, value) {
  const staged = `${path}.${randomUUID()}`
  try {
    await writeDurably(staged, `${JSON.stringify(value)}\n`)
    await link(staged, path).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(staged, { force: true })
  }
  await syncDirectory(dirname(path))
  return readJson(path)
}

/** Gives a directory that was staged its name, unless that is taken by somebody who was faster. */
export async function renameOnce(staged, path) {
  try {
    await rename(staged, path)
  } catch (error) {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    await rm(staged, { recursive: true, force: true })
  }
  await syncDirectory(dirname(path))
}

export async function syncDirectory(path) {
  const directory = await open(path)
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
