import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from '@tenure/testing'
import type { Thrown } from './bomber.js'

/** The process that throws: what it costs to make bombs is no part of what the client waits for. */
export class Bomber {
  readonly #child: ChildProcess
  readonly #heard: AsyncIterator<string>
  readonly #exited: Promise<void>
  hasEnded = false

  constructor(port: number, ms: number) {
    const path = fileURLToPath(new URL('./bomber.js', import.meta.url))
    this.#child = spawn(process.execPath, [path, `${port}`, `${ms}`], {
      env: cleanEnvironment(process.env),
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#heard = createInterface(this.#child.stdout!)[Symbol.asyncIterator]()
    this.#exited = once(this.#child, 'exit').then(() => {
      this.hasEnded = true
    })
    // That it has gone is heard elsewhere.
    this.#child.stdin!.on('error', () => {})
  }

  async hear(): Promise<string> {
    const { value, done } = await this.#heard.next()
    if (done === true) throw new Error('the bomber has ended')
    return value
  }

  async bombard(): Promise<Thrown> {
    this.#child.stdin!.write('begin\n')
    return JSON.parse(await this.hear()) as Thrown
  }

  async end(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#exited
  }
}
