import { Worker } from 'node:worker_threads'
import { addTally, emptyTally, type Tally } from './tally.js'

export interface CrewOptions {
  readonly threads: number
  /** The next seed; `undefined` when there are no more. */
  readonly next: () => number | undefined
  readonly onProgress: (tally: Tally) => void
}

/** Few enough that the last ones are done soon, many enough that handing them over costs nothing. */
const seedsAtOnce = 4
/** No scenario takes so long that comes to its end. */
const patienceMs = 60_000

/** Plays seeds in threads, so many at once, until there are no more. */
export async function playSeeds(options: CrewOptions): Promise<Tally> {
  const tally = emptyTally()
  const members = Array.from({ length: options.threads }, () => new Member(options, tally))
  await Promise.all(members.map((member) => member.work()))
  return tally
}

class Member {
  readonly #options: CrewOptions
  readonly #tally: Tally
  readonly #current = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT))
  #thread: Worker | undefined

  constructor(options: CrewOptions, tally: Tally) {
    this.#options = options
    this.#tally = tally
  }

  async work(): Promise<void> {
    for (let seeds = this.#take(); seeds.length > 0; seeds = this.#take()) {
      addTally(this.#tally, await this.#play(seeds))
      this.#options.onProgress(this.#tally)
    }
    await this.#thread?.terminate()
  }

  #take(): number[] {
    const seeds: number[] = []
    while (seeds.length < seedsAtOnce) {
      const seed = this.#options.next()
      if (seed === undefined) break
      seeds.push(seed)
    }
    return seeds
  }

  #play(seeds: readonly number[]): Promise<Tally> {
    this.#thread ??= new Worker(new URL('./seed-thread.js', import.meta.url), {
      workerData: { current: this.#current },
      // It needs nothing of what this process was started with, such as a test runner's loader.
      ...{ execArgv: [], env: {} },
    })
    const thread = this.#thread
    return new Promise((resolve) => {
      const settle = (tally: Tally) => {
        clearTimeout(timer)
        thread.off('message', settle).off('error', onError).off('exit', onExit)
        resolve(tally)
      }
      const lose = (check: string, message: string) => {
        this.#thread = undefined
        settle({ ...emptyTally(), failures: [{ seed: this.#current[0]!, check, message }] })
        thread.on('error', () => {})
        void thread.terminate()
      }
      const onError = (error: unknown) => lose('a scenario does not end its thread', String(error))
      const onExit = (code: number) => lose('a scenario does not end its thread', `code ${code}`)
      const timer = setTimeout(
        () => lose('a scenario ends', `it has not after ${patienceMs / 1000} s`),
        patienceMs,
      )
      thread.on('message', settle).on('error', onError).on('exit', onExit)
      thread.postMessage(seeds)
    })
  }
}
