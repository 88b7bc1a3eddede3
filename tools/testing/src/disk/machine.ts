/**
 * The machine of a disk: its volume, the number of calls, the planned faults, and whether it has power. All
 * processes of the disk share it.
 */
import type { CallDetails, DiskCall } from './call.js'
import { Crashed, systemError } from './errors.js'
import { FaultPlan } from './fault.js'
import type { Volume } from './volume.js'

export interface SimulatedDiskOptions {
  /** Capacity for all files, in sectors of 512 bytes. Default: unlimited. */
  readonly capacityBytes?: number
  /** `false` grants every lock. */
  readonly locks?: boolean
  /** Resolves when the call may end. Default: in the next microtask. */
  readonly latency?: ((call: DiskCall) => Promise<void>) | undefined
  /** `false` counts calls without recording them, for long simulations. */
  readonly recordCalls?: boolean
}

export class Machine {
  readonly volume: Volume
  readonly options: SimulatedDiskOptions
  readonly faults = new FaultPlan()
  readonly calls: DiskCall[] = []
  callCount = 0
  processCount = 0
  crashed = false
  /** Every change fails. */
  dead = false
  readonly whenCrashed: Promise<void>
  #announceCrash: () => void = () => {}

  constructor(volume: Volume, options: SimulatedDiskOptions) {
    this.volume = volume
    this.options = options
    this.whenCrashed = new Promise((resolve) => {
      this.#announceCrash = resolve
    })
  }

  record(process: number, details: CallDetails): DiskCall {
    const call = { index: this.callCount++, process, ...details }
    if (this.options.recordCalls !== false) this.calls.push(call)
    return call
  }

  crash(): void {
    this.crashed = true
    this.#announceCrash()
  }

  assertPowered(): void {
    if (this.crashed) throw new Crashed()
  }

  /** Makes the device fail for good, and returns the error for the current call. */
  die(call: DiskCall): Error {
    this.dead = true
    return systemError('EIO', call)
  }
}
