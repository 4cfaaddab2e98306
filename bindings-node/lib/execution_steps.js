'use strict'
/**
 * One running call of a boundary over its native half: what a machine in raw steps and the host driver share. Each step is a task of
 * libuv's pool. The first one waits for the task's lock in short tries, which hold no worker between them.
 */

const { perform } = require('./calls.js')
const turns = require('./execution_turns.js')
const { GallivantError } = require('./index.js')
const { valueOf } = require('./json.js')
const { callSync, internal } = require('./native.js')

/** Under this whatever works for a call is told, by its boundary, that it ends: a method, called with the reason. */
const END = Symbol('end')

/** What the host is to do comes as an array, whose places these are (`src/execution/told.rs`). */
const ID = 0
const DEADLINE_AT = 1
const PORT = 2
const METHOD = 3
const INPUT = 4
const HAS_LONG_DIGITS = 5

/** The value of a call's input. */
function inputOf(told) { return told[HAS_LONG_DIGITS] ? valueOf(told[INPUT]) : JSON.parse(told[INPUT]) }

/** A signal that fires at most once, and costs something only where somebody looks at it. */
class Ending {
  #controller = null
  #fired = null

  get signal() {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#fired !== null) this.#controller.abort(this.#fired.reason)
    }
    return this.#controller.signal
  }

  fire(reason) {
    this.#fired = { reason }
    this.#controller?.abort(reason)
  }
}

/** How many calls run, of all boundaries. */
let running = 0

class Steps {
  #boundary
  #native
  #open
  /** Ends the wait for the lock, while there is one. */
  #giveUpWaiting = null
  /** The id of the outstanding call, or null. */
  outstandingId = null
  /** `{ reason }` once it was ended from outside. What a step has come to meanwhile is then an outcome, or nothing. */
  ended = null
  /** Who is told of that besides: whoever carries the outstanding call out. */
  onEnd = null

  /** `nativeCall` is a call that was not begun; `open` are the calls of the boundary that run. */
  constructor(boundary, nativeCall, open) {
    this.#boundary = boundary
    this.#native = nativeCall
    this.#open = open
  }

  /**
   * Begins, and tries until the lock is there or its time is over. Calls `done` with what the step has come to: an array, which is a
   * call; a text, or an object with `done` or `failed`. Otherwise `failed` with the error. Where the wait is given up between two
   * tries, it ends at once.
   */
  begin(signal, done, failed) {
    this.#enter()
    let first
    try {
      first = this.#native.startAsync(false)
    } catch (error) {
      this.#leave()
      failed(internal(error))
      return
    }
    // The worker is at it from here on.
    let [timer, why, hasEnded] = [undefined, undefined, false]
    const onAbort = signal === undefined ? undefined : () => this.#giveUpWaiting?.(signal.reason)
    const end = (settle, value) => {
      // The answer of a try whose wait was given up comes when another start may wait.
      if (hasEnded) return
      hasEnded = true
      this.#giveUpWaiting = null
      signal?.removeEventListener('abort', onAbort)
      if (this.outstandingId === null) this.#leave()
      settle(value)
    }
    this.#giveUpWaiting = (reason) => {
      why = reason
      // A try that has the lock already, and waits for a program of this machine, is told by the call's own token.
      if (!this.#native.abortWait()) {
        this.#native.giveUp()
        return
      }
      clearTimeout(timer)
      end(failed, reason)
    }
    const broken = (error) => end(failed, internal(error))
    const taken = (told) => {
      let step
      try {
        step = this.#taken(told)
      } catch (error) {
        end(failed, error)
        return
      }
      end(done, step)
    }
    const tried = (told) => {
      if (told.againMs !== undefined) timer = setTimeout(again, told.againMs)
      else if (told.aborted) end(failed, why)
      else if (turns.isOver(running)) void turns.another().then(() => taken(told))
      else taken(told)
    }
    const again = () => {
      try {
        this.#native.startAsync(true).then(tried, broken)
      } catch (error) {
        broken(error)
      }
    }
    first.then(tried, broken)
    signal?.addEventListener('abort', onAbort, { once: true })
  }

  /** Feeds how the outstanding call has ended: by a `reply` or a `fail`, which have a text, by its `deadline`, or by an `abort`. */
  feed(how, id, text, isSending, done, failed) {
    const broken = (error) => failed(internal(error))
    try {
      this.#fed(how, id, text, isSending).then((told) => {
        if (turns.isOver(running)) void turns.another().then(() => this.#settle(told, done, failed))
        else this.#settle(told, done, failed)
      }, broken)
    } catch (error) {
      broken(error)
    }
  }

  #fed(how, id, text, isSending) {
    switch (how) {
      case 'reply': return this.#native.replyAsync(id, text, isSending)
      case 'fail': return this.#native.failAsync(id, text, isSending)
      case 'deadline': return this.#native.deadlineAsync(id, isSending)
      default: return this.#native.abortAsync(id, isSending)
    }
  }

  #settle(told, done, failed) {
    let step
    try {
      step = this.#taken(told)
    } catch (error) {
      failed(error)
      return
    }
    done(step)
  }

  start(signal) { return new Promise((resolve, reject) => { this.begin(signal, resolve, reject) }) }
  reply(id, text) { return this.#whenFed('reply', id, text) }
  fail(id, error) { return this.#whenFed('fail', id, error) }
  deadline(id) { return this.#whenFed('deadline', id) }
  abort(id) { return this.#whenFed('abort', id) }

  #whenFed(how, id, text) { return new Promise((resolve, reject) => { this.feed(how, id, text, false, resolve, reject) }) }

  async sending(id) {
    try {
      await this.#perform((wait) => this.#native.sendingAsync(id, wait))
    } catch (error) {
      throw this.#refusal(error)
    }
  }

  giveUp() { this.#native.giveUp() }

  async drop() {
    this[END](dropped())
    await this.#perform((wait) => this.#native.dropAsync(wait))
  }

  /** Tells whoever works for it to end, and ends its wait for the lock. Its boundary drops the machine, or `drop` does. */
  [END](reason) {
    this.ended ??= { reason }
    this.#giveUpWaiting?.(reason)
    this.outstandingId = null
    this.#leave()
    this.onEnd?.(reason)
  }

  #enter() {
    if (!this.#open.has(this)) running += 1
    this.#open.add(this)
  }

  #leave() { if (this.#open.delete(this)) running -= 1 }

  /** A refusal changes nothing: the outstanding call stays outstanding. */
  #taken(told) {
    if (told.error !== undefined) throw this.#refusal(new GallivantError(told.error))
    this.outstandingId = null
    if (!Array.isArray(told)) this.#leave()
    else if (this.ended === null) this.outstandingId = told[ID]
    else throw this.ended.reason
    return told
  }

  /** With its boundary a machine loses its call: whoever has just ended that call hears why, and not that there is none. */
  #refusal(error) { return this.ended !== null && error.reason === 'reply' ? this.ended.reason : error }

  #perform(start) { return perform({ wait: callSync(() => this.#boundary.beginWait()), start }) }
}

/** Why a machine that was dropped has ended. */
function dropped() { return new DOMException('the machine was dropped', 'AbortError') }

module.exports = { DEADLINE_AT, END, Ending, ID, INPUT, METHOD, PORT, Steps, dropped, inputOf }
