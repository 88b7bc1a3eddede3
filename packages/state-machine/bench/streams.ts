import { TaskMaker } from './task-maker.js'

const forgetEvery = 100

/** An endless stream of records that keeps the number of live tasks constant. */
export interface Stream {
  readonly maker: TaskMaker
  /** Writes the records that create the tasks. */
  fill(): void
  /** Writes a few more records. */
  step(): void
}

/**
 * `live` tasks wait in one queue. A new one is added at the end, and the oldest is leased and
 * completed.
 */
export class WaitingStream implements Stream {
  readonly maker: TaskMaker
  readonly #taskIds: Float64Array
  #oldest = 0
  #completed = 0

  constructor(liveTasks: number, idShare: number) {
    this.maker = new TaskMaker(idShare, () => {}, 1)
    this.#taskIds = new Float64Array(liveTasks)
  }

  fill(): void {
    for (let place = 0; place < this.#taskIds.length; place++) {
      this.maker.at++
      this.#taskIds[place] = this.maker.create()
    }
  }

  /** The records of one life, although of different tasks. */
  step(): void {
    const { maker } = this
    maker.at++
    const created = maker.create()
    const oldest = this.#taskIds[this.#oldest]!
    this.#taskIds[this.#oldest] = created
    this.#oldest = (this.#oldest + 1) % this.#taskIds.length
    const leaseId = maker.grant(oldest, 1, 30_000)
    maker.at++
    maker.extend(leaseId, 30_000)
    maker.complete(oldest, leaseId)
    if (++this.#completed % forgetEvery === 0) maker.forget(maker.lsn)
  }
}

/** `live` tasks are leased. A random one is extended, or completed and replaced by a new one. */
export class LeasedStream implements Stream {
  readonly maker: TaskMaker
  readonly #taskIds: Float64Array
  readonly #leaseIds: Float64Array
  #completed = 0

  constructor(liveTasks: number, idShare: number) {
    this.maker = new TaskMaker(idShare, () => {}, 1)
    this.#taskIds = new Float64Array(liveTasks)
    this.#leaseIds = new Float64Array(liveTasks)
  }

  fill(): void {
    for (let place = 0; place < this.#taskIds.length; place++) this.#start(place)
  }

  step(): void {
    const { maker } = this
    const place = maker.random.below(this.#taskIds.length)
    const leaseId = this.#leaseIds[place]!
    maker.at++
    if (maker.random.chance(0.5)) {
      maker.extend(leaseId, endlessMs)
      return
    }
    maker.complete(this.#taskIds[place]!, leaseId)
    this.#start(place)
    if (++this.#completed % forgetEvery === 0) maker.forget(maker.lsn)
  }

  #start(place: number): void {
    const { maker } = this
    maker.at++
    const taskId = maker.create()
    this.#taskIds[place] = taskId
    this.#leaseIds[place] = maker.grant(taskId, 1, endlessMs)
  }
}

/** No lease may expire before its next extension. */
const endlessMs = 1_000_000_000
