import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect, type Task, type Tenure } from '@tenure/client'
import { type AppProcess, type LogLine, StallingProxy } from '@tenure/testing'
import { type Flags, showLine, startProgram } from './program.js'

/** Log messages that the demonstration leaves out. */
const hiddenMessages = new Set([
  ...['starting', 'looking for a coordinator', 'mode changed', 'stopping', 'stopped'],
  ...['lease extended', 'handler ended'],
])

/** A coordinator and its workers in their own processes, a client, and a directory for their data. */
export class Stage {
  readonly leaseMs: number
  readonly #dataDir: string
  readonly #programs = new Map<string, AppProcess>()
  /** Run in reverse order when the demonstration ends. */
  readonly #teardowns: (() => Promise<void>)[] = []
  readonly #write: (text: string) => void
  #port = 0
  readonly #signal: AbortSignal
  #tearingDown: Promise<void> | undefined
  #tenure: Tenure | undefined

  private constructor(
    dataDir: string,
    leaseMs: number,
    write: (text: string) => void,
    signal: AbortSignal,
  ) {
    this.#dataDir = dataDir
    this.#signal = signal
    this.leaseMs = leaseMs
    this.#write = write
  }

  /** A stage without processes. Once `signal` has aborted, it starts none. */
  static async set(
    leaseMs: number,
    write: (text: string) => void,
    signal: AbortSignal,
  ): Promise<Stage> {
    return new Stage(await mkdtemp(join(tmpdir(), 'tenure-demo-')), leaseMs, write, signal)
  }

  get tenure(): Tenure {
    if (this.#tenure === undefined) throw new Error('the coordinator was not started')
    return this.#tenure
  }

  /** A restart uses the same port, so that the workers find it. */
  async startCoordinator(): Promise<LogLine> {
    const { leaseMs } = this
    const program = this.#run('coordinator', 'coordinator', {
      'data-dir': join(this.#dataDir, 'log'),
      port: this.#port,
      'http-port': 'off',
      'lease-duration': `${leaseMs}ms`,
      'heartbeat-interval': `${Math.round(leaseMs / 3)}ms`,
    })
    const started = await program.line('started')
    this.#port = Number(started.port)
    this.#tenure ??= await connect({ endpoints: [`127.0.0.1:${this.#port}`], role: 'admin' })
    return started
  }

  /** Resolves when the worker requests tasks. */
  async startWorker(
    name: string,
    { proxy, queue = 'default' }: { readonly proxy?: StallingProxy; readonly queue?: string } = {},
  ): Promise<void> {
    const handler = fileURLToPath(new URL('./handler.js', import.meta.url))
    const port = proxy?.port ?? this.#port
    const program = this.#run(name, 'worker', {
      name,
      handler,
      queues: queue,
      concurrency: 1,
      'abort-grace': '500ms',
      coordinator: `127.0.0.1:${port}`,
      'http-port': 'off',
      'log-level': 'debug',
    })
    await program.line('started')
  }

  openProxy(): Promise<StallingProxy> {
    return StallingProxy.open(this, this.#port)
  }

  /** Submits a task that takes `workMs`. */
  async submit(workMs: number, queue = 'default'): Promise<number> {
    const { taskId } = await this.tenure.submit(Buffer.from(String(workMs)), { queue })
    this.narrate(`Task ${taskId} is submitted: ${workMs} ms of work.`)
    return taskId
  }

  /** Writes what the demonstration does, between the log lines of the programs. */
  narrate(text: string): void {
    this.#write(showLine('–', { level: 'info', time: new Date().toISOString(), msg: text }))
  }

  show(text: string): void {
    this.#write(`\n${text.replace(/^(?=.)/gm, '    ').trimEnd()}\n`)
  }

  /** Resolves when the worker has logged this message about the task. */
  waitForLine(who: string, msg: string, taskId: number): Promise<LogLine> {
    return this.program(who).line(msg, { taskId })
  }

  /** The name of the first worker that leases the task. */
  async firstToLease(names: readonly string[], taskId: number): Promise<string> {
    return Promise.any(
      names.map(async (name) => {
        await this.waitForLine(name, 'leased', taskId)
        return name
      }),
    )
  }

  /** The task, once a worker's report on it is committed. */
  async ended(taskId: number): Promise<Task> {
    const workers = [...this.#programs.keys()].filter((name) => name !== 'coordinator')
    await Promise.any(workers.map((name) => this.waitForLine(name, 'committed', taskId)))
    return this.tenure.get(taskId)
  }

  program(name: string): AppProcess {
    const program = this.#programs.get(name)
    if (program === undefined) throw new Error(`${name} was not started`)
    return program
  }

  async explain(taskId: number): Promise<string> {
    const where = { coordinator: `127.0.0.1:${this.#port}` }
    const words = ['explain', String(taskId)]
    const { stdout, stderr } = await startProgram(this, 'cli', where, undefined, words).exited
    return stdout + stderr
  }

  teardown(end: () => Promise<void>): void {
    this.#teardowns.push(end)
  }

  /** Rejects when the demonstration is interrupted: a scene may wait for a log line that never comes. */
  async unlessInterrupted<T>(scene: Promise<T>): Promise<T> {
    const interrupted = once(this.#signal, 'abort').then(() =>
      Promise.reject(new Error('interrupted')),
    )
    return Promise.race([scene, interrupted])
  }

  /** Ends all processes and removes the data. */
  tearDown(): Promise<void> {
    this.#tearingDown ??= this.#tearDown()
    return this.#tearingDown
  }

  get #isEnding(): boolean {
    return this.#signal.aborted || this.#tearingDown !== undefined
  }

  async #tearDown(): Promise<void> {
    await this.#tenure?.close()
    for (const end of this.#teardowns.toReversed()) await end()
    await rm(this.#dataDir, { recursive: true, force: true })
  }

  #run(as: string, name: 'coordinator' | 'worker', flags: Flags): AppProcess {
    // tearDown would miss a program that is started now.
    if (this.#isEnding) throw new Error('interrupted')
    const program = startProgram(this, name, flags, (line) => {
      if (!this.#isEnding && !hiddenMessages.has(line.msg)) this.#write(showLine(as, line))
    })
    this.#programs.set(as, program)
    return program
  }
}
