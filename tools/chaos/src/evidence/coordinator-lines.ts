import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { listFiles, readLines } from './lines.js'

/** A line of the coordinator's log: the fields that the checks read. */
export interface CoordinatorLine {
  readonly msg: string
  readonly code?: string
  /**
   * In `started`: number of opens, number of restarts, last LSN, and number of replayed records.
   */
  readonly epoch?: number
  readonly restarts?: number
  readonly lastLsn?: number
  readonly replayed?: number
}

/** The first words of its lines about checkpoints. */
export const checkpointWords = {
  begun: 'making a checkpoint',
  made: 'checkpoint made',
  failed: 'checkpoint failed',
} as const

/** Log lines of all coordinator processes, summarized. */
export interface CoordinatorReport {
  /** Only starts that became ready. */
  readonly starts: readonly Start[]
  readonly checkpoints: CheckpointCounts
}

/**
 * `epoch` counts opens of the log, this one included; `restarts` counts earlier starts that became
 * ready.
 */
export interface Start {
  readonly epoch: number
  readonly restarts: number
}

export interface CheckpointCounts {
  readonly made: number
  /** Checkpoints that a kill interrupted. */
  readonly cut: number
  /** Starts that read a checkpoint, and only the later records from the log. */
  readonly starts: number
}

export async function readCoordinatorReport(directory: string): Promise<CoordinatorReport> {
  const starts: Start[] = []
  const checkpoints = { made: 0, cut: 0, starts: 0 }
  for (const { path } of listFiles(directory)) {
    let isMaking = false
    for await (const line of readLines<CoordinatorLine>(path)) {
      const { msg, epoch, restarts, lastLsn = 0, replayed = 0 } = line
      if (msg === 'started' && epoch !== undefined && restarts !== undefined) {
        starts.push({ epoch, restarts })
      }
      if (msg === 'started' && replayed < lastLsn) checkpoints.starts++
      if (msg.startsWith(checkpointWords.made)) checkpoints.made++
      if (msg.startsWith(checkpointWords.begun)) isMaking = true
      else if (isEndOfCheckpoint(msg)) isMaking = false
    }
    if (isMaking) checkpoints.cut++
  }
  return { starts, checkpoints }
}

function isEndOfCheckpoint(msg: string): boolean {
  return msg.startsWith(checkpointWords.made) || msg.startsWith(checkpointWords.failed)
}

/** Reads new lines of a file, or of the newest file once the coordinator writes to another one. */
export class Tail {
  readonly #pathOf: () => string
  #path = ''
  #at = 0
  #rest = ''

  constructor(pathOf: () => string) {
    this.#pathOf = pathOf
  }

  /** The lines that were completed since the last call. */
  read(): CoordinatorLine[] {
    const path = this.#pathOf()
    if (path !== this.#path) {
      this.#path = path
      this.#at = 0
      this.#rest = ''
    }
    if (!existsSync(path)) return []
    const lines = (this.#rest + this.#readOn()).split('\n')
    this.#rest = lines.pop() ?? ''
    return lines.map((line) => JSON.parse(line) as CoordinatorLine)
  }

  #readOn(): string {
    const file = openSync(this.#path, 'r')
    const window = Buffer.alloc(65_536)
    try {
      const bytes = readSync(file, window, 0, window.length, this.#at)
      this.#at += bytes
      return window.toString('utf8', 0, bytes)
    } finally {
      closeSync(file)
    }
  }
}
