import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect, type Task, type Tenure } from '@tenure/client'
import { type AppProcess, Cable, type LogLine } from '@tenure/testing'
import { type Flags, showLine, startProgram } from './program.js'

/** What nobody needs to read to follow the story. */
const unspoken = new Set([
  ...['starting', 'looking for a coordinator', 'mode changed', 'stopping', 'stopped'],
  ...['lease extended', 'handler ended'],
])

/** A coordinator, its workers and a client, as processes of their own, in a directory of their own. */
export class Stage {
  readonly leaseMs: number
  readonly #dataDir: string
  readonly #programs = new Map<string, AppProcess>()
  /** What is to be done before the stage is empty again, the last thing first. */
  readonly #endings: (() => Promise<void>)[] = []
  readonly #write: (text: string) => void
  #port = 0
  readonly #told: AbortSignal
  #clearing: Promise<void> | undefined
  #tenure: Tenure | undefined

  private constructor(
    dataDir: string,
    leaseMs: number,
    write: (text: string) => void,
    told: AbortSignal,
  ) {
    this.#dataDir = dataDir
    this.#told = told
    this.leaseMs = leaseMs
    this.#write = write
  }

  /** An empty one. When `told` aborts nobody comes on it any more. */
  static async set(
    leaseMs: number,
    write: (text: string) => void,
    told: AbortSignal,
  ): Promise<Stage> {
    return new Stage(await mkdtemp(join(tmpdir(), 'tenure-demo-')), leaseMs, write, told)
  }

  get tenure(): Tenure {
    if (this.#tenure === undefined) throw new Error('there is no client yet')
    return this.#tenure
  }

  /** On the same port as before, so that those who lost it find it. */
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

  /** Settles when it asks for tasks. */
  async startWorker(
    name: string,
    { behind, queue = 'default' }: { readonly behind?: Cable; readonly queue?: string } = {},
  ): Promise<void> {
    const handler = fileURLToPath(new URL('./handler.js', import.meta.url))
    const port = behind?.port ?? this.#port
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

  layCable(): Promise<Cable> {
    return Cable.lay(this, this.#port)
  }

  /** A task that takes so long. */
  async submit(workMs: number, queue = 'default'): Promise<number> {
    const { taskId } = await this.tenure.submit(Buffer.from(String(workMs)), { queue })
    this.say(`Task ${taskId} is submitted: ${workMs} ms of work.`)
    return taskId
  }

  /** What is done from outside, between the lines of those who do not know of it. */
  say(text: string): void {
    this.#write(showLine('–', { level: 'info', time: new Date().toISOString(), msg: text }))
  }

  show(text: string): void {
    this.#write(`\n${text.replace(/^(?=.)/gm, '    ').trimEnd()}\n`)
  }

  /** When the worker says this about the task. */
  hears(who: string, msg: string, taskId: number): Promise<LogLine> {
    return this.program(who).line(msg, { taskId })
  }

  /** Whoever of them has the task first. */
  async whoLeases(names: readonly string[], taskId: number): Promise<string> {
    return Promise.any(
      names.map(async (name) => {
        await this.hears(name, 'leased', taskId)
        return name
      }),
    )
  }

  /** The task, when a worker was told that its report is accepted. */
  async ended(taskId: number): Promise<Task> {
    const workers = [...this.#programs.keys()].filter((name) => name !== 'coordinator')
    await Promise.any(workers.map((name) => this.hears(name, 'committed', taskId)))
    return this.tenure.get(taskId)
  }

  program(name: string): AppProcess {
    const program = this.#programs.get(name)
    if (program === undefined) throw new Error(`${name} is not on the stage`)
    return program
  }

  async explain(taskId: number): Promise<string> {
    const where = { coordinator: `127.0.0.1:${this.#port}` }
    const words = ['explain', String(taskId)]
    const { stdout, stderr } = await startProgram(this, 'cli', where, undefined, words).exited
    return stdout + stderr
  }

  teardown(end: () => Promise<void>): void {
    this.#endings.push(end)
  }

  /** What is going on, or the end when that comes first: who waits for a line may wait for long. */
  async unlessOver<T>(scene: Promise<T>): Promise<T> {
    const over = once(this.#told, 'abort').then(() => Promise.reject(new Error('it is over')))
    return Promise.race([scene, over])
  }

  /** Everybody goes, and nothing is left behind. */
  clear(): Promise<void> {
    this.#clearing ??= this.#clear()
    return this.#clearing
  }

  get #isOver(): boolean {
    return this.#told.aborted || this.#clearing !== undefined
  }

  async #clear(): Promise<void> {
    await this.#tenure?.close()
    for (const end of this.#endings.toReversed()) await end()
    await rm(this.#dataDir, { recursive: true, force: true })
  }

  #run(as: string, name: 'coordinator' | 'worker', flags: Flags): AppProcess {
    // What is started now would not be cleared away.
    if (this.#isOver) throw new Error('it is over')
    const program = startProgram(this, name, flags, (line) => {
      if (!this.#isOver && !unspoken.has(line.msg)) this.#write(showLine(as, line))
    })
    this.#programs.set(as, program)
    return program
  }
}
