import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/**
 * A connection with one answer for each command, in order. An answer is one line; a line that
 * begins with `RESERVED` is followed by a body. Commands of one turn of the event loop leave in one
 * write.
 */
export class TextConnection {
  readonly #socket: Socket
  #outgoing = ''
  #rest = ''
  #waiting: ((answer: string | undefined) => void)[] = []
  #answered = 0

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true).setEncoding('latin1')
    socket.on('data', (text: string) => this.#take(text))
    socket.on('close', () => this.#end())
    // Waiting commands are settled by the `close` event that follows.
    socket.on('error', () => {})
  }

  static async open(port: number): Promise<TextConnection> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    return new TextConnection(socket)
  }

  /** `undefined` when the connection has ended. */
  ask(command: string): Promise<string | undefined> {
    if (this.#outgoing === '') queueMicrotask(() => this.#flush())
    this.#outgoing += command
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  close(): void {
    this.#socket.destroy()
  }

  #flush(): void {
    this.#socket.write(this.#outgoing, 'latin1')
    this.#outgoing = ''
  }

  #take(text: string): void {
    const all = this.#rest + text
    let at = 0
    for (;;) {
      const end = all.indexOf('\r\n', at)
      if (end === -1) break
      const line = all.slice(at, end)
      const behind = line.startsWith('RESERVED ') ? end + bodyBytes(line) + 4 : end + 2
      if (behind > all.length) break
      this.#waiting[this.#answered++]?.(line)
      at = behind
    }
    this.#rest = all.slice(at)
    if (this.#answered < 1024 && this.#answered < this.#waiting.length) return
    this.#waiting = this.#waiting.slice(this.#answered)
    this.#answered = 0
  }

  #end(): void {
    for (const resolve of this.#waiting.splice(0).slice(this.#answered)) resolve(undefined)
    this.#answered = 0
  }
}

function bodyBytes(line: string): number {
  return Number(line.slice(line.lastIndexOf(' ') + 1))
}
