/**
 * The machine that a disk is built into: the volume, the count of calls, the planned faults, and
 * whether there is still power. All processes of one disk share it.
 */
import type { CallDetails, DiskCall } from './call.js'
import { Crashed, systemError } from './errors.js'
import { FaultPlan } from './fault.js'
import type { Volume } from './volume.js'

export interface SimulatedDiskOptions {
  /** How much the files may hold together, counted in sectors of 512 bytes. No limit by default. */
  readonly capacityBytes?: number
  /** `false` grants every lock to everybody. */
  readonly locks?: boolean
  /** How long a call takes: it resolves after this. By default in the next microtask. */
  readonly latency?: ((call: DiskCall) => Promise<void>) | undefined
  /** `false` counts calls without keeping them: for long simulations. */
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
  /** Everything that changes anything fails. */
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

  /** The device gives up; the call that noticed fails with what is returned. */
  die(call: DiskCall): Error {
    this.dead = true
    return systemError('EIO', call)
  }
}
