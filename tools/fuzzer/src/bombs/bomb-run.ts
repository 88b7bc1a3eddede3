import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Tenure } from '@tenure/client'
import { Latencies, type ProgressOutput, programOf, ScriptProcess } from '@tenure/harness'
import { type AppExit, AppProcess, cleanEnvironment } from '@tenure/testing'
import type { BombReport } from './bomber.js'

export interface BombSummary {
  readonly bombs: number
  /** Bombs whose connection was neither answered nor closed. */
  readonly unhandled: readonly string[]
  /** `null` if the coordinator exited before it was measured. */
  readonly beforeRssBytes: number | null
  readonly peakRssBytes: number | null
  readonly afterRssBytes: number | null
  /** Latency of the healthy client without bombs and with them. */
  readonly aloneP99Ms: number
  readonly healthyP99Ms: number
  readonly healthySubmissions: number
  /**
   * The coordinator answers, and shuts down cleanly when told to; otherwise the output says why.
   */
  readonly survived: boolean
}

/** In MiB. The remaining heap is small compared with the memory that a bomb asks for. */
const heapMiB = 128

/** Sends the bombs to a real coordinator for some time, while a healthy client submits. */
export async function runBombs(
  { minutes }: { readonly minutes: number },
  output: ProgressOutput,
  signal: AbortSignal,
): Promise<BombSummary> {
  const endings: (() => Promise<void>)[] = []
  try {
    return await bombard(minutes * 60_000, endings, output, signal)
  } finally {
    // A failure to end one process does not stop the others from being ended.
    const tell = (error: unknown) => output.write(`${error}\n`)
    for (const end of endings.toReversed()) await end().catch(tell)
  }
}

async function bombard(
  ms: number,
  endings: (() => Promise<void>)[],
  output: ProgressOutput,
  signal: AbortSignal,
): Promise<BombSummary> {
  const directory = await mkdtemp(join(tmpdir(), 'tenure-bombs-'))
  endings.push(() => rm(directory, { recursive: true, force: true }))
  const coordinator = startCoordinator(directory, endings)
  const port = Number((await coordinator.line('started')).port)
  const tenure = await connect({ endpoints: [`127.0.0.1:${port}`] })
  endings.push(() => tenure.close())
  const bomber = new ScriptProcess(new URL('./bomber.js', import.meta.url), [`${port}`, `${ms}`])
  const endBomber = () => bomber[Symbol.asyncDispose]()
  endings.push(endBomber)
  signal.addEventListener('abort', () => void endBomber(), { once: true })
  await bomber.hear()
  const death = deathOf(coordinator)
  const alone = await submitUntil(tenure, elapsed(Math.min(5000, ms / 4), signal), death)
  const { pid } = coordinator
  const before = await memoryOf(pid)
  output.write(`process ${pid} uses ${mebibytes(before.rss)} before the first bomb\n`)
  signal.throwIfAborted()
  const [thrown, healthy] = await Promise.all([
    bombardBy(bomber),
    submitUntil(tenure, () => bomber.hasEnded || signal.aborted, death),
  ])
  const after = await memoryOf(pid)
  output.write(`peak ${mebibytes(after.peak)}, ${mebibytes(after.rss)} after the last one\n`)
  const failure = alone.failure ?? healthy.failure
  const end = await endInOrder(coordinator, tenure, death)
  const faults = [
    ...faultsOf(end, failure),
    ...thrown.unhandled.map((bomb) => `unhandled: ${bomb}`),
  ]
  for (const fault of faults) output.write(`${fault}\n`)
  return {
    bombs: thrown.count,
    unhandled: thrown.unhandled,
    beforeRssBytes: before.rss,
    peakRssBytes: after.peak,
    afterRssBytes: after.rss,
    aloneP99Ms: p99Of(alone),
    healthyP99Ms: p99Of(healthy),
    healthySubmissions: healthy.latencies.count,
    survived: faults.length === 0,
  }
}

async function bombardBy(bomber: ScriptProcess): Promise<BombReport> {
  bomber.tell('begin')
  return JSON.parse(await bomber.hear()) as BombReport
}

/** Aborted when the process has exited, so that pending requests are not awaited. */
function deathOf(coordinator: AppProcess): AbortSignal {
  const dying = new AbortController()
  void coordinator.exited.then(() => dying.abort())
  return dying.signal
}

interface End extends AppExit {
  readonly isByItself: boolean
  readonly isAnswering: boolean
}

async function endInOrder(
  coordinator: AppProcess,
  tenure: Tenure,
  death: AbortSignal,
): Promise<End> {
  const isAnswering = await tenure.stats({ signal: death }).then(
    () => true,
    () => false,
  )
  const isByItself = death.aborted
  // A coordinator that does not answer may ignore the signal, too.
  if (!isAnswering) await coordinator.end()
  return { ...(await coordinator.stop()), isByItself, isAnswering }
}

function faultsOf({ isByItself, isAnswering, code, stderr }: End, failure: unknown): string[] {
  if (isByItself) return [`the coordinator exited by itself with code ${code}\n${stderr}`]
  const faults: string[] = []
  if (failure !== undefined) faults.push(`the healthy client was not served: ${failure}`)
  if (!isAnswering) faults.push('the coordinator no longer answers')
  else if (code !== 0) faults.push(`the coordinator was told to stop and exited with code ${code}`)
  return faults
}

function startCoordinator(directory: string, endings: (() => Promise<void>)[]): AppProcess {
  const owner = { teardown: (end: () => Promise<void>) => endings.push(end) }
  return new AppProcess(owner, programOf(import.meta.resolve('@tenure/coordinator/package.json')), {
    args: ['--data-dir', directory, '--port', '0', '--http-port', 'off', '--log-level', 'info'],
    env: { ...cleanEnvironment(process.env), NODE_OPTIONS: `--max-old-space-size=${heapMiB}` },
  })
}

interface Submitted {
  readonly latencies: Latencies
  /** Why the client stopped early. */
  readonly failure?: unknown
}

/**
 * Submits one task after the other until the time is over or a submission fails; each is answered
 * after its sync.
 */
async function submitUntil(
  tenure: Tenure,
  isOver: () => boolean,
  signal: AbortSignal,
): Promise<Submitted> {
  const payload = Buffer.alloc(100, 7)
  const latencies = new Latencies()
  try {
    do {
      const startMs = performance.now()
      await tenure.submit(payload, { signal })
      latencies.add(performance.now() - startMs)
    } while (!isOver())
    return { latencies }
  } catch (failure) {
    return { latencies, failure }
  }
}

function elapsed(ms: number, signal: AbortSignal): () => boolean {
  const endMs = performance.now() + ms
  return () => signal.aborted || performance.now() >= endMs
}

function p99Of({ latencies }: Submitted): number {
  return Math.round(latencies.quantile(0.99) * 100) / 100
}

interface Memory {
  readonly rss: number | null
  readonly peak: number | null
}

/** As counted by the system; the peak covers the whole life of the process. */
async function memoryOf(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const read = (name: string) => {
    const [, kibibytes] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status) ?? []
    return kibibytes === undefined ? null : Number(kibibytes) * 1024
  }
  return { rss: read('VmRSS'), peak: read('VmHWM') }
}

function mebibytes(bytes: number | null): string {
  return bytes === null ? 'an unknown amount' : `${Math.round(bytes / 2 ** 20)} MiB`
}
