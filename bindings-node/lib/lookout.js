'use strict'
/**
 * Waiting for the frames of replays, however many, with one thread and no worker of libuv's pool (`src/journal/lookout.rs`).
 *
 * There is a thread while a replay is open that has waited. It keeps the process alive while one waits.
 */

const { callSync, native } = require('./native.js')

class Lookout {
  #native = null
  /** The open replays: a number each, and what wakes it while it waits. */
  #members = new Map()
  #last = 0
  #waiting = 0
  /** What tells that a thread that was told to end is over. */
  #leaving = new Map()

  /** One more replay that is open. Call `leave` once. */
  enter() {
    do this.#last = (this.#last + 1) % 0xffff_ffff
    while (this.#members.has(this.#last))
    this.#members.set(this.#last, null)
    return this.#last
  }

  /**
   * Calls `wake` when the replay of this number should look. Answers false where nothing tells of that; it then has to look
   * in its own time. Throws what is in the way.
   */
  listen(number, replay, wake) {
    if (!callSync(() => replay.hasDescriptor())) return false
    const lookout = this.#native ?? this.#begin()
    callSync(() => lookout.watch(replay, number))
    this.#members.set(number, wake)
    this.#waiting += 1
    if (this.#waiting === 1) lookout.keepAlive(true)
    return true
  }

  /** The replay of this number does not wait any more. */
  unlisten(number) {
    if (!this.#members.get(number)) return
    this.#members.set(number, null)
    this.#waiting -= 1
    if (this.#waiting === 0) this.#native?.keepAlive(false)
  }

  /** To be called before a replay is closed. */
  forget(replay) {
    if (this.#native !== null) callSync(() => this.#native.forget(replay))
  }

  /** A replay was closed. Resolves when nothing is left of it; after the last one that is the thread's end. */
  async leave(number) {
    this.unlisten(number)
    this.#members.delete(number)
    const lookout = this.#native
    if (this.#members.size > 0 || lookout === null) return
    this.#native = null
    const over = new Promise((resolve) => this.#leaving.set(lookout, resolve))
    // Whoever waits for the end must not be left by the process before it.
    lookout.keepAlive(true)
    lookout.close()
    await over
  }

  #begin() {
    const lookout = callSync(() => native.NativeLookout.begin(() => this.#heed(lookout)))
    // Its bell keeps the process from the first who waits on, and no sooner.
    lookout.keepAlive(false)
    this.#native = lookout
    return lookout
  }

  /** The bell of `lookout` has rung. */
  #heed(lookout) {
    for (const number of lookout.take()) this.#members.get(number)?.()
    if (!lookout.isOver()) return
    lookout.join()
    this.#leaving.get(lookout)?.()
    this.#leaving.delete(lookout)
    if (lookout !== this.#native) return
    // It was not told to end. Whoever waits looks, and begins another.
    this.#native = null
    for (const wake of [...this.#members.values()]) wake?.()
  }
}

module.exports = { lookout: new Lookout() }
