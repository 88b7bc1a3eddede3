import { Worker } from 'node:worker_threads'
import { systemClock } from '@tenure/seams'
import type { LossCheck } from '../violation.js'
import { addTally, emptyTally, type Failure, type Tally, tallyOfLost } from './tally.js'

export interface CrewOptions {
  readonly threads: number
  /** The next seed; `undefined` when there are no more. */
  readonly next: () => number | undefined
  readonly onProgress: (tally: Tally) => void
  /** Told at once of a seed that took its thread with it: see `isLoss`. */
  readonly onLoss?: (failure: Failure) => void
  /** What a thread runs, and how long it may take for a seed, where it is not what ships. */
  readonly program?: URL
  readonly patienceMs?: number
  /** Real time, where it is not a test's. */
  readonly setTimer?: (delayMs: number, callback: () => void) => { cancel(): void }
}

/** No scenario that comes to its end takes this long, on a machine with much else to do either. */
const patienceMsDefault = 300_000
const programDefault = new URL('./seed-thread.js', import.meta.url)

const losses: readonly string[] = [
  'a scenario does not end its thread',
  'a scenario ends',
] satisfies LossCheck[]

/** Whether nothing but another thread can play this seed again without being lost itself. */
export function isLoss({ check }: Failure): boolean {
  return losses.includes(check)
}

/** Plays seeds in threads, so many at once, until there are no more. */
export async function playSeeds(options: CrewOptions): Promise<Tally> {
  const tally = emptyTally()
  const members = Array.from({ length: options.threads }, () => new Member(options, tally))
  await Promise.all(members.map((member) => member.work()))
  return tally
}

/** Hands its thread one seed at a time, so that with a thread one seed is lost and no other. */
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
    const { setTimer = systemClock.setTimer } = this.#options
    // It needs nothing of what this process was started with, such as a test runner's loader.
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
        settle(tallyOfLost({ seed, check, message }))
        thread.on('error', () => {})
        void thread.terminate()
        onLoss?.({ seed, check, message })
      }
      const onError = (error: unknown) => lose('a scenario does not end its thread', String(error))
      const onExit = (code: number) => lose('a scenario does not end its thread', `code ${code}`)
      const timer = setTimer(patienceMs, () =>
        lose('a scenario ends', `it has not after ${patienceMs / 1000} s`),
      )
      thread.on('message', settle).on('error', onError).on('exit', onExit)
      thread.postMessage(seed)
    })
  }
}
