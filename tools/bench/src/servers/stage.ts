import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect, type Tenure } from '@tenure/client'
import { programOf } from '@tenure/harness'
import { AppProcess, cleanEnvironment, type LogLine } from '@tenure/testing'

const handler = fileURLToPath(new URL('./empty-handler.js', import.meta.url))

/** A coordinator with an empty log and a client, for one round. Workers are started on request. */
export class Stage {
  readonly tenure: Tenure
  readonly port: number
  readonly #endings: (() => Promise<void>)[]

  private constructor(tenure: Tenure, port: number, endings: (() => Promise<void>)[]) {
    this.tenure = tenure
    this.port = port
    this.#endings = endings
  }

  static async set(): Promise<Stage> {
    const dataDir = await mkdtemp(join(tmpdir(), 'tenure-bench-'))
    const endings = [() => rm(dataDir, { recursive: true, force: true })]
    const args = ['--data-dir', dataDir, '--port', '0', '--http-port', 'off']
    const coordinator = startProgram(endings, 'coordinator', args)
    const port = Number((await coordinator.line('started')).port)
    const tenure = await connect({ endpoints: [`127.0.0.1:${port}`] })
    endings.push(() => tenure.close())
    return new Stage(tenure, port, endings)
  }

  /** Starts a worker that asks for tasks. */
  async startWorker(settings: readonly string[]): Promise<WorkerProcess> {
    const where = ['--coordinator', `127.0.0.1:${this.port}`, '--http-port', '0']
    const worker = startProgram(this.#endings, 'worker', [
      ...where,
      '--handler',
      handler,
      ...settings,
    ])
    return new WorkerProcess(Number((await worker.line('started')).httpPort))
  }

  /** Stops all processes, the last one first, and removes their files. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const end of this.#endings.toReversed()) await end()
  }
}

/** A worker, and the metrics that it reports. */
export class WorkerProcess {
  readonly #httpPort: number

  constructor(httpPort: number) {
    this.#httpPort = httpPort
  }

  /** CPU time of all threads of the worker. */
  async cpuSeconds(): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${this.#httpPort}/metrics`)
    const [, value] = /^tenure_process_cpu_seconds_total (\S+)$/m.exec(await response.text()) ?? []
    if (value === undefined) throw new Error('the worker reports no CPU time')
    return Number(value)
  }
}

const programs = {
  coordinator: import.meta.resolve('@tenure/coordinator/package.json'),
  worker: import.meta.resolve('@tenure/worker/package.json'),
}

/** Starts the built program of an app. Programs are stopped with the stage, the last one first. */
export function startProgram(
  endings: (() => Promise<void>)[],
  name: keyof typeof programs,
  args: readonly string[],
  hear: (line: LogLine) => void = () => {},
): AppProcess {
  const owner = { teardown: (end: () => Promise<void>) => endings.push(end) }
  return new AppProcess(owner, programOf(programs[name]), {
    args,
    env: cleanEnvironment(process.env),
    hear,
  })
}
