import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** The peers in a process of their own, which talks in lines. */
export class PeersProcess {
  readonly #child: ChildProcess
  readonly #heard: AsyncIterator<string>

  constructor(port: number, manner: string, count: number) {
    const path = fileURLToPath(new URL('./peers.js', import.meta.url))
    const args = [path, `${port}`, manner, `${count}`]
    this.#child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#heard = createInterface(this.#child.stdout!)[Symbol.asyncIterator]()
  }

  /** The next line that it says. */
  async hear(): Promise<string> {
    const { value, done } = await this.#heard.next()
    if (done) throw new Error('the process has ended')
    return value
  }

  tell(line: string): void {
    this.#child.stdin!.write(`${line}\n`)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return new Promise((resolve) => {
      this.#child.once('exit', () => resolve())
      this.#child.kill('SIGKILL')
    })
  }
}
