import { Worker } from 'node:worker_threads'
import { systemClock } from '@tenure/seams'
import type { LogChoice } from '../scenario/scenario.js'
import type { LossCheck } from '../violation.js'
import { addTally, emptyTally, type Failure, type Tally, tallyOfLost } from './tally.js'

/** The instructions to a thread. */
export interface SeedOrder {
  readonly seed: number
  readonly log: LogChoice
}

export interface CrewOptions {
  readonly threads: number
  /** Which scenario of a seed is played. */
  readonly log?: LogChoice | undefined
  /** The next seed; `undefined` when there are no more. */
  readonly next: () => number | undefined
  readonly onProgress: (tally: Tally) => void
  /** Called immediately when a seed has ended its thread: see `isLoss`. */
  readonly onLoss?: (failure: Failure) => void
  /** A replacement for the shipped thread program, and its time limit for a seed. */
  readonly program?: URL
  readonly patienceMs?: number
  /** Runs on real time; tests replace it. */
  readonly setTimer?: (delayMs: number, callback: () => void) => { cancel(): void }
}

/** Longer than any finite scenario takes, even on a busy machine. */
const patienceMsDefault = 300_000
const programDefault = new URL('./seed-thread.js', import.meta.url)

const losses: readonly string[] = [
  'a scenario leaves its thread alive',
  'a scenario ends',
] satisfies LossCheck[]

/** Whether replaying this seed would lose the thread that plays it. */
export function isLoss({ check }: Failure): boolean {
  return losses.includes(check)
}

/** Plays seeds in this many concurrent threads until there are no more. */
export async function playSeeds(options: CrewOptions): Promise<Tally> {
  const tally = emptyTally()
  const members = Array.from({ length: options.threads }, () => new Member(options, tally))
  await Promise.all(members.map((member) => member.work()))
  return tally
}

/** Hands its thread one seed at a time, so that only one seed is lost with a thread. */
class Member {
  readonly #options: CrewOptions
  readonly #tally: Tally
  #thread: Worker | undefined

  constructor(options: CrewOptions, tally: Tally) {
    this.#options = options
    this.#tally = tally
  }

  async work(): Promise<void> {
    const { next, onProgress } = this.#options
    for (let seed = next(); seed !== undefined; seed = next()) {
      addTally(this.#tally, await this.#play(seed))
      onProgress(this.#tally)
    }
    await this.#thread?.terminate()
  }

  #play(seed: number): Promise<Tally> {
    const { program = programDefault, patienceMs = patienceMsDefault, onLoss } = this.#options
    const { log = 'any' } = this.#options
    const { setTimer = systemClock.setTimer } = this.#options
    // The thread does not inherit process options, such as a test runner's loader.
    this.#thread ??= new Worker(program, { execArgv: [], env: {} })
    const thread = this.#thread
    return new Promise((resolve) => {
      const settle = (tally: Tally) => {
        timer.cancel()
        thread.off('message', settle).off('error', onError).off('exit', onExit)
        resolve(tally)
      }
      const lose = (check: LossCheck, message: string) => {
        this.#thread = undefined
        settle(tallyOfLost({ seed, log, check, message }))
        thread.on('error', () => {})
        void thread.terminate()
        onLoss?.({ seed, log, check, message })
      }
      const onError = (error: unknown) => lose('a scenario leaves its thread alive', String(error))
      const onExit = (code: number) => lose('a scenario leaves its thread alive', `code ${code}`)
      const timer = setTimer(patienceMs, () =>
        lose('a scenario ends', `it did not end within ${patienceMs / 1000} s`),
      )
      thread.on('message', settle).on('error', onError).on('exit', onExit)
      thread.postMessage({ seed, log } satisfies SeedOrder)
    })
  }
}
