import { TaskMaker } from './task-maker.js'

const forgetEvery = 100

/** An endless stream of records that keeps the number of live tasks as it is. */
export interface Stream {
  readonly maker: TaskMaker
  /** Writes the records that bring the tasks in. */
  fill(): void
  /** Writes a few records more. */
  step(): void
}

/** So many tasks wait in one queue. A new one joins at the end, the oldest is leased and completed. */
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

  /** One whole life, though not that of one task. */
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

/** So many tasks are leased. Any of them is extended, or completed and replaced by a new one. */
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

/** No lease may expire while the others have their turn. */
const endlessMs = 1_000_000_000
