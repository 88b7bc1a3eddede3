import type { CheckpointMaker, HistoryReader, MadeCheckpoint } from '@tenure/coordinator-server'
import { checkpointLog, readPage } from '@tenure/coordinator-server/internal'
import type { Clock } from '@tenure/seams'
import type { SimulatedDisk, SimulatedProcess } from '@tenure/testing'
import { type Disk, openReadOnly } from '@tenure/wal'
import { directory } from './coordinator-options.js'

/** Makes checkpoints as the coordinator's thread does, without a thread. */
export class Checkpoints implements CheckpointMaker {
  readonly #disk: SimulatedProcess
  readonly #clock: Clock
  #giveUp: (error: Error) => void = () => {}
  #isStopped = false

  /** `onKilled`: a fault has killed the checkpoint thread, and with it its process. */
  constructor(disk: SimulatedDisk, clock: Clock, onKilled: () => void) {
    this.#disk = disk.process()
    this.#clock = clock
    void this.#disk.whenKilled().then(() => {
      if (!this.#isStopped) onKilled()
    })
  }

  make(lsn: number): Promise<MadeCheckpoint> {
    return new Promise((resolve, reject) => {
      this.#giveUp = reject
      checkpointLog(directory, lsn, { disk: this.#disk, clock: this.#clock }).then(resolve, reject)
    })
  }

  hurry(): void {}

  async stop(): Promise<void> {
    this.kill()
    this.#giveUp(new Error('the checkpoint was given up'))
  }

  /** Like the end of a thread: unfinished files stay as they are. */
  kill(): void {
    this.#isStopped = true
    this.#disk.kill()
  }
}

/** Reads pages of history as the coordinator's thread does, without a thread. */
export function logHistory(disk: Disk, clock: Clock): HistoryReader {
  const open = () => openReadOnly(directory, { disk, clock })
  return { read: (query, signal) => readPage(open, query, { signal }) }
}
