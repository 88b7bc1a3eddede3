import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

/** The paths of a run's files. */
export class Places {
  readonly root: string
  /** Mount point of the coordinator's small disk. */
  readonly disk: string
  readonly data: string
  /** The witness's copy of the log. */
  readonly records: string
  readonly executions: string
  readonly workers: string
  readonly coordinator: string
  readonly errors: string
  readonly acknowledged: string
  readonly faults: string
  /** The coordinator's final list of tasks. */
  readonly live: string
  readonly seen: string
  /** The evidence, sorted by tasks while it is judged. */
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
