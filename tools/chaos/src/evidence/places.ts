import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

/** The places of a run's files. */
export class Places {
  readonly root: string
  /** Where the coordinator's small disk is mounted, if one can be. */
  readonly disk: string
  readonly data: string
  /** What the witness has copied from the log. */
  readonly records: string
  readonly executions: string
  readonly workers: string
  readonly coordinator: string
  readonly errors: string
  readonly acknowledged: string
  readonly faults: string
  /** What was asked at the end. */
  readonly live: string
  readonly seen: string
  /** All of it, sorted by tasks, while it is judged. */
  readonly parcels: string

  constructor(root: string) {
    this.root = root
    this.disk = join(root, 'disk')
    this.data = join(this.disk, 'data')
    this.records = join(root, 'records.bin')
    this.executions = join(root, 'executions')
    this.workers = join(root, 'workers')
    this.coordinator = join(root, 'coordinator')
    this.errors = join(root, 'errors.txt')
    this.acknowledged = join(root, 'acknowledged.jsonl')
    this.faults = join(root, 'faults.jsonl')
    this.live = join(root, 'live.jsonl')
    this.seen = join(root, 'seen.json')
    this.parcels = join(root, 'parcels')
  }

  make(): void {
    for (const directory of [this.disk, this.executions, this.workers, this.coordinator]) {
      mkdirSync(directory)
    }
  }
}
