import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect, type Task, type Tenure } from '@tenure/client'
import { Cable } from './cable.js'
import { showLine } from './log-line.js'
import { type Line, Program, readProgram } from './program.js'

/** What nobody needs to read to follow the story. */
const unspoken = new Set([
  ...[
    'starting',
    'looking for a coordinator',
    'mode changed',
    'handler ended',
    'stopping',
    'stopped',
  ],
  ...['lease extended'],
])

/** A coordinator, its workers and a client, as processes of their own, in a directory of their own. */
export class Stage {
  readonly leaseMs: number
  readonly #dataDir: string
  readonly #programs = new Map<string, Program>()
  readonly #cables: Cable[] = []
  readonly #write: (text: string) => void
  #port = 0
  #isOver = false
  #tenure: Tenure | undefined

  private constructor(dataDir: string, leaseMs: number, write: (text: string) => void) {
    this.#dataDir = dataDir
    this.leaseMs = leaseMs
    this.#write = write
  }

  static async set(leaseMs: number, write: (text: string) => void): Promise<Stage> {
    const stage = new Stage(await mkdtemp(join(tmpdir(), 'tenure-demo-')), leaseMs, write)
    await stage.startCoordinator()
    return stage
  }

  get tenure(): Tenure {
    if (this.#tenure === undefined) throw new Error('there is no client yet')
    return this.#tenure
  }

  /** On the same port as before, so that those who lost it find it. */
  async startCoordinator(): Promise<Line> {
    const { leaseMs } = this
    const program = this.#run('coordinator', 'coordinator', [
      ...[
        '--data-dir',
        join(this.#dataDir, 'log'),
        '--port',
        String(this.#port),
        '--http-port',
        'off',
      ],
      ...[
        '--lease-duration',
        `${leaseMs}ms`,
        '--heartbeat-interval',
        `${Math.round(leaseMs / 3)}ms`,
      ],
    ])
    const started = await program.saying('started')
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
    const program = this.#run(name, 'worker', [
      ...['--name', name, '--handler', handler, '--concurrency', '1', '--log-level', 'debug'],
      ...['--coordinator', `127.0.0.1:${port}`, '--http-port', 'off', '--abort-grace', '500ms'],
      ...['--queues', queue],
    ])
    await program.saying('started')
  }

  async layCable(): Promise<Cable> {
    const cable = await Cable.lay(this.#port)
    this.#cables.push(cable)
    return cable
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
  hears(who: string, msg: string, taskId?: number): Promise<Line> {
    return this.program(who).line(
      (line) => line.msg.startsWith(msg) && (taskId === undefined || line.taskId === taskId),
    )
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

  program(name: string): Program {
    const program = this.#programs.get(name)
    if (program === undefined) throw new Error(`${name} is not on the stage`)
    return program
  }

  explain(taskId: number): Promise<string> {
    return readProgram('cli', [
      'explain',
      String(taskId),
      '--coordinator',
      `127.0.0.1:${this.#port}`,
    ])
  }

  /** Everybody goes, and nothing is left behind. */
  async clear(): Promise<void> {
    this.#isOver = true
    await this.#tenure?.close()
    for (const cable of this.#cables) cable.cut()
    for (const program of [...this.#programs.values()].reverse()) await program.end('SIGKILL')
    await rm(this.#dataDir, { recursive: true, force: true })
  }

  #run(as: string, name: 'coordinator' | 'worker', args: readonly string[]): Program {
    const program = new Program(name, args, (line) => {
      if (!this.#isOver && !unspoken.has(line.msg)) this.#write(showLine(as, line))
    })
    this.#programs.set(as, program)
    return program
  }
}
