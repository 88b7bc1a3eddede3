import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { listFiles, readLines } from './lines.js'

/** A line of the coordinator's log, as far as anybody asks for it. */
export interface CoordinatorLine {
  readonly msg: string
  readonly code?: string
  /** Of `started`: which opening of the log it is, which restart, its last LSN, and how many records were replayed. */
  readonly epoch?: number
  readonly restarts?: number
  readonly lastLsn?: number
  readonly replayed?: number
}

/** By what its lines about a checkpoint begin with. */
export const checkpointWords = {
  begun: 'making a checkpoint',
  made: 'checkpoint made',
  failed: 'checkpoint failed',
} as const

/** What the lives of the coordinator said of themselves. */
export interface CoordinatorStory {
  /** Of those that said they had started. */
  readonly starts: readonly Start[]
  readonly checkpoints: CheckpointCounts
}

/** How often the log had been opened, this time included, and how often a coordinator had become ready before. */
export interface Start {
  readonly epoch: number
  readonly restarts: number
}

export interface CheckpointCounts {
  readonly made: number
  /** Those that a kill broke off. */
  readonly cut: number
  /** Starts that took their state from one, and the records behind it from the log. */
  readonly starts: number
}

export async function readCoordinatorStory(directory: string): Promise<CoordinatorStory> {
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

/** Reads what is added to a file, or to the one that has taken its place. */
export class Tail {
  readonly #pathOf: () => string
  #path = ''
  #at = 0
  #rest = ''

  constructor(pathOf: () => string) {
    this.#pathOf = pathOf
  }

  /** The lines that were ended since it was asked last. */
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
