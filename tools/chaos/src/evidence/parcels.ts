import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import type { TaskState } from '@tenure/client'
import type { Acknowledgement } from '../work/acknowledged.js'
import type { Logged } from './record-file.js'
import type { ExecutionLine, WorkerLine } from './worker-lines.js'

/** A task as the coordinator reports it. */
export interface LiveTask {
  readonly taskId: number
  readonly state: TaskState
}

/** All evidence about some tasks; each kind is in the order in which it was written. */
export interface Parcel {
  readonly acknowledged: Acknowledgement[]
  readonly executions: ExecutionLine[]
  readonly workerLines: WorkerLine[]
  readonly live: LiveTask[]
  readonly logged: Logged[]
}

export type Witness = keyof Parcel

/** A task is in the parcel of its id. Ids are LSNs, so a parcel covers this many records. */
const lsnsPerParcel = 100_000

/** Maximum number of items of a parcel that wait in memory to be written. */
const itemsInMemoryMax = 500

/**
 * Sorts the evidence by tasks into files: the evidence of a long run is larger than memory, and
 * judging one task needs all evidence about it.
 */
export class Parcels {
  readonly #directory: string
  readonly #lsnsEach: number
  readonly #filling = new Map<number, { parcel: Parcel; count: number }>()

  constructor(directory: string, lsnsEach = lsnsPerParcel) {
    this.#directory = directory
    this.#lsnsEach = lsnsEach
    mkdirSync(directory)
  }

  put<W extends Witness>(witness: W, taskId: number, item: Parcel[W][number]): void {
    const number = Math.floor(taskId / this.#lsnsEach)
    let filling = this.#filling.get(number)
    if (filling === undefined) {
      filling = { parcel: emptyParcel(), count: 0 }
      this.#filling.set(number, filling)
    }
    const items: Parcel[W][number][] = filling.parcel[witness]
    items.push(item)
    if (++filling.count >= itemsInMemoryMax) this.#write(number, filling.parcel)
  }

  /** Reads one parcel after the other, after everything has been put in. */
  *open(): Generator<Parcel> {
    for (const [number, { parcel }] of [...this.#filling]) this.#write(number, parcel)
    for (const name of readdirSync(this.#directory)) yield readParcel(join(this.#directory, name))
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true })
  }

  /** A piece of a parcel: its length, followed by the arrays. */
  #write(number: number, parcel: Parcel): void {
    this.#filling.delete(number)
    const bytes = serialize(parcel)
    const length = Buffer.alloc(4)
    length.writeUInt32LE(bytes.length)
    appendFileSync(join(this.#directory, `${number}`), Buffer.concat([length, bytes]))
  }
}

function readParcel(path: string): Parcel {
  const parcel = emptyParcel()
  const bytes = readFileSync(path)
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 + bytes.readUInt32LE(at)
    const piece = deserialize(bytes.subarray(at + 4, end)) as Parcel
    parcel.acknowledged.push(...piece.acknowledged)
    parcel.executions.push(...piece.executions)
    parcel.workerLines.push(...piece.workerLines)
    parcel.live.push(...piece.live)
    parcel.logged.push(...piece.logged)
    at = end
  }
  return parcel
}

function emptyParcel(): Parcel {
  return { acknowledged: [], executions: [], workerLines: [], live: [], logged: [] }
}
