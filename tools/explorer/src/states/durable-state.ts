import type { ReplayedLog } from '@tenure/coordinator-server/internal'
import { decodeRecord } from '@tenure/state-machine'
import type { NaiveTask } from '@tenure/testing'

/** The state of a log. */
export class DurableState {
  /** In the order of discovery. */
  readonly number: number
  /** The LSN and the `at` of its last record. */
  readonly lsn: number
  readonly at: number
  /** Encoded by `encodeState`: two logs with the same bytes have the same state. */
  readonly encoded: Uint8Array
  /** As the naive model knows them. */
  readonly tasks: readonly NaiveTask[]
  /** The first list of records that led here; others may lead here in another order. */
  readonly records: readonly Uint8Array[]
  /** The states after one more record, by the record's bytes. */
  readonly next = new Map<string, DurableState>()

  constructor(
    number: number,
    at: number,
    encoded: Uint8Array,
    tasks: readonly NaiveTask[],
    records: readonly Uint8Array[],
  ) {
    this.number = number
    this.lsn = records.length
    this.at = at
    this.encoded = encoded
    this.tasks = tasks
    this.records = records
  }

  payloadOf(taskId: number): Uint8Array {
    const record = decodeRecord(this.records[taskId - 1]!)
    if (record.type !== 'TaskCreated') throw new Error(`LSN ${taskId} created no task`)
    return record.payload
  }

  /** The log as a restart finds it. */
  log(): ReplayedLog {
    return logOf(this.records)
  }
}

export function logOf(records: readonly Uint8Array[]): ReplayedLog {
  return {
    nextLsn: records.length + 1,
    checkpointLsn: 0,
    gaps: [],
    replay: async function* () {
      if (records.length > 0) yield { firstLsn: 1, records }
    },
    readCheckpoint: async function* () {},
  }
}
