/**
 * Chromium without a window, driven over two pipes by its own protocol: a message is JSON and ends with a zero byte.
 * Nothing is put into a page but what a test asks for.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Everything that would reach beyond this machine, or needs a screen. */
const SWITCHES = [
  '--headless', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--no-default-browser-check',
  '--no-proxy-server', '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--disable-extensions', '--metrics-recording-only', '--remote-debugging-pipe',
]

/** A browser that ends with the test. */
export async function browserFor(t) {
  const program = process.env.CHROMIUM || 'chromium'
  const profile = mkdtempSync(join(tmpdir(), 'gallivant-'))
  // Root has no sandbox for it; the pages are the example's own.
  const args = [...SWITCHES, ...(process.getuid() === 0 ? ['--no-sandbox'] : []), `--user-data-dir=${profile}`, 'about:blank']
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] })
  const started = once(child, 'spawn')
  const over = new Promise((resolve) => { child.once('close', resolve) })
  await started
  const browser = new Protocol(child.stdio[3], child.stdio[4])
  t.after(async () => {
    await Promise.race([browser.send('Browser.close').catch(() => {}), over])
    // It is closed when the last of its processes has let go of the pipes; one that hangs is not waited for.
    const hangs = setTimeout(() => child.kill('SIGKILL'), 10_000)
    await over
    clearTimeout(hangs)
    rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  })
  return browser
}

class Protocol {
  #write
  #last = 0
  #waiting = new Map()

  constructor(write, read) {
    this.#write = write
    write.on('error', () => {})
    let rest = ''
    read.setEncoding('utf8').on('data', (text) => {
      const messages = (rest + text).split('\0')
      rest = messages.pop()
      for (const message of messages) this.#hear(JSON.parse(message))
    })
    read.once('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the browser has ended'))
    })
  }

  send(method, params = {}, sessionId = undefined) {
    this.#last += 1
    const id = this.#last
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#write.write(`${JSON.stringify({ id, method, params, sessionId })}\0`)
    })
  }

  #hear({ id, result, error }) {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error) waiting?.reject(new Error(error.message))
    else waiting?.resolve(result)
  }

  /** A new page. `before` runs in it before anything of its own does. */
  async page(url, before) {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' })
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true })
    await this.send('Page.enable', {}, sessionId)
    await this.send('Page.addScriptToEvaluateOnNewDocument', { source: before }, sessionId)
    await this.send('Page.navigate', { url }, sessionId)
    /** What an expression is in the page. */
    const evaluate = async (expression) => {
      const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, returnByValue: true }, sessionId)
      if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
      return result.value
    }
    /** How many bytes the page's objects take, without what only waits to be collected. */
    evaluate.heapBytes = async () => {
      await this.send('HeapProfiler.collectGarbage', {}, sessionId)
      const { usedSize } = await this.send('Runtime.getHeapUsage', {}, sessionId)
      return usedSize
    }
    /** The page as it looks now, as a PNG. */
    evaluate.screenshot = async () => {
      const { data } = await this.send('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true }, sessionId)
      return Buffer.from(data, 'base64')
    }
    return evaluate
  }
}
