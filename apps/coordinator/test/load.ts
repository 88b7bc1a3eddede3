import { join } from 'node:path'
import { Random } from '@tenure/testing'
import type { Test } from 'tap'
import { CoordinatorProcess, makeDirectory } from './coordinator-process.js'
import { connectOnce, untilLost } from './links.js'
import { LoadWorker } from './load-worker.js'
import { Transcript } from './transcript.js'

const workers = 6
/** The work done in each run of the coordinator before it ends. */
const answersPerLife = 1000
const cancelledPerLife = 20
const completedPerLife = 20

const leases = ['--lease-duration', '100ms', '--heartbeat-interval', '50ms']
const poison = ['--poison-threshold', '3']

/**
 * Several runs of a coordinator on one log, all but the last ended by SIGKILL, under workers that act
 * randomly.
 */
export async function runLoad(t: Test, seed: number, lives: number) {
  const dataDir = join(makeDirectory(t), 'data')
  const random = new Random(seed)
  const transcript = new Transcript()
  const crew = Array.from({ length: workers }, (_, index) => {
    return new LoadWorker(`w${index + 1}`, random.fork(), transcript)
  })
  for (let life = 1; life <= lives; life++) {
    const args = [...leases, ...poison]
    const { coordinator, port } = await CoordinatorProcess.start(t, dataDir, args)
    let isOver = false
    const work = crew.map(async (worker) => {
      const link = await connectOnce(t, port, worker.name)
      await untilLost(() => worker.work(link, () => isOver))
    })
    await enoughOf(transcript)
    if (life < lives) await coordinator.end()
    isOver = true
    await Promise.all(work)
    if (life === lives) await lookAtAll(t, port, transcript)
    await coordinator.stop()
  }
  return { dataDir, transcript }
}

/** Waits for a number of further events of each kind, since the rate depends on the machine. */
function enoughOf(transcript: Transcript): Promise<void> {
  const size = transcript.size + answersPerLife
  const cancelled = () => transcript.answeredBy('cancelled').length
  const [cancelledMin, completedMin] = [
    cancelled() + cancelledPerLife,
    completedIn(transcript) + completedPerLife,
  ]
  return transcript.until(() => {
    const isMuch = transcript.size >= size && cancelled() >= cancelledMin
    return isMuch && completedIn(transcript) >= completedMin
  })
}

/** Number of completed tasks, each counted once. */
function completedIn(transcript: Transcript): number {
  const reports = transcript.of('complete').filter(({ answer }) => answer?.kind === 'committed')
  return new Set(reports.map(({ request }) => request.taskId)).size
}

async function lookAtAll(t: Test, port: number, transcript: Transcript): Promise<void> {
  const link = await connectOnce(t, port, 'witness')
  for (const { answer } of transcript.answeredBy('submitted')) {
    await transcript.ask(link, 'witness', { kind: 'get', taskId: answer.taskId })
  }
  await link.close()
}

/** Collects faults, of which there must be none: one assertion for thousands of checks. */
export class Faults {
  readonly #found: string[] = []

  check(isFine: boolean, fault: () => string): void {
    if (!isFine) this.#found.push(fault())
  }

  conclude(t: Test, name: string): void {
    t.strictSame(this.#found.splice(0).slice(0, 10), [], name)
  }
}
