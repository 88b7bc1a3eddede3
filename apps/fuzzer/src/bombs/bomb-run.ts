import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { connect, type Tenure } from '@tenure/client'
import { AppProcess, cleanEnvironment } from '@tenure/testing'
import type { Output } from '../fuzz-run.js'
import type { Thrown } from './bomber.js'

export interface BombSummary {
  readonly bombs: number
  /** Bombs that were neither answered nor ended. */
  readonly unheeded: readonly string[]
  readonly beforeRssBytes: number
  readonly peakRssBytes: number
  readonly afterRssBytes: number
  /** Of the healthy client, without bombs and beside them. */
  readonly aloneP99Ms: number
  readonly healthyP99Ms: number
  readonly healthySubmissions: number
  /** It answers, and ends in order when it is told to. */
  readonly survived: boolean
}

/** In mebibytes: what is left of it is little beside what a bomb asks for. */
const heapMiB = 128

/** Throws the set at a real coordinator for some time, while a healthy client submits. */
export async function runBombs(
  { minutes }: { readonly minutes: number },
  output: Output,
  signal: AbortSignal,
): Promise<BombSummary> {
  const endings: (() => Promise<void>)[] = []
  try {
    return await bombard(minutes * 60_000, endings, output, signal)
  } finally {
    for (const end of endings.toReversed()) await end()
  }
}

async function bombard(
  ms: number,
  endings: (() => Promise<void>)[],
  output: Output,
  signal: AbortSignal,
): Promise<BombSummary> {
  const directory = await mkdtemp(join(tmpdir(), 'tenure-bombs-'))
  endings.push(() => rm(directory, { recursive: true, force: true }))
  const coordinator = startCoordinator(directory, endings)
  const port = Number((await coordinator.line('started')).port)
  const tenure = await connect({ endpoints: [`127.0.0.1:${port}`] })
  endings.push(() => tenure.close())
  const bomber = new Bomber(port, ms)
  endings.push(() => bomber.end())
  await bomber.hear()
  const aloneMs = await submitUntil(tenure, elapsed(Math.min(5000, ms / 4), signal))
  const before = await memoryOf(coordinator.pid)
  output.write(`the coordinator takes ${mebibytes(before.rss)} before the first bomb\n`)
  const healthy = submitUntil(tenure, () => bomber.hasEnded || signal.aborted)
  const thrown = await bomber.bombard()
  const healthyMs = await healthy
  const after = await memoryOf(coordinator.pid)
  output.write(`${mebibytes(after.peak)} at most, ${mebibytes(after.rss)} after the last one\n`)
  const isAnswering = await tenure.stats().then(
    () => true,
    () => false,
  )
  const { code } = await coordinator.stop()
  return {
    bombs: thrown.count,
    unheeded: thrown.unheeded,
    beforeRssBytes: before.rss,
    peakRssBytes: after.peak,
    afterRssBytes: after.rss,
    aloneP99Ms: percentile(aloneMs),
    healthyP99Ms: percentile(healthyMs),
    healthySubmissions: healthyMs.length,
    survived: isAnswering && code === 0 && thrown.unheeded.length === 0,
  }
}

function startCoordinator(directory: string, endings: (() => Promise<void>)[]): AppProcess {
  const manifest = fileURLToPath(import.meta.resolve('@tenure/coordinator/package.json'))
  const program = join(dirname(manifest), 'dist/src/main.js')
  const owner = { teardown: (end: () => Promise<void>) => endings.push(end) }
  return new AppProcess(owner, program, {
    args: ['--data-dir', directory, '--port', '0', '--http-port', 'off', '--log-level', 'info'],
    env: { ...cleanEnvironment(process.env), NODE_OPTIONS: `--max-old-space-size=${heapMiB}` },
  })
}

/** One submission after the other, each answered after its sync. */
async function submitUntil(tenure: Tenure, isOver: () => boolean): Promise<number[]> {
  const payload = Buffer.alloc(100, 7)
  const tookMs: number[] = []
  do {
    const startMs = performance.now()
    await tenure.submit(payload)
    tookMs.push(performance.now() - startMs)
  } while (!isOver())
  return tookMs
}

function elapsed(ms: number, signal: AbortSignal): () => boolean {
  const endMs = performance.now() + ms
  return () => signal.aborted || performance.now() >= endMs
}

function percentile(tookMs: readonly number[]): number {
  const sorted = tookMs.toSorted((a, b) => a - b)
  const ms = sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
  return Math.round(ms * 100) / 100
}

/** As the system counts it: at no moment was there more than the peak. */
async function memoryOf(pid: number): Promise<{ readonly rss: number; readonly peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const read = (name: string) => {
    const [, kibibytes] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status) ?? []
    return Number(kibibytes) * 1024
  }
  return { rss: read('VmRSS'), peak: read('VmHWM') }
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`
}

/** The process that throws: what it costs to make bombs is no part of what the client waits for. */
class Bomber {
  readonly #child: ChildProcess
  readonly #heard: AsyncIterator<string>
  hasEnded = false

  constructor(port: number, ms: number) {
    const path = fileURLToPath(new URL('./bomber.js', import.meta.url))
    this.#child = spawn(process.execPath, [path, `${port}`, `${ms}`], {
      env: cleanEnvironment(process.env),
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#heard = createInterface(this.#child.stdout!)[Symbol.asyncIterator]()
    this.#child.once('exit', () => {
      this.hasEnded = true
    })
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
  }
}
