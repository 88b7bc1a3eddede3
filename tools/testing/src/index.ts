/** The public entry of the package. */
export {
  type AppExit,
  type AppOptions,
  AppProcess,
  cleanEnvironment,
  type LogLine,
  type Owner,
} from './app-process.js'
export { character } from './character.js'
export type { DiskCall, DiskCallKind } from './disk/call.js'
export { sectorBytes } from './disk/content.js'
export { Crashed, Killed, type SystemError } from './disk/errors.js'
export type { FailedSync, Fault, FaultEffect, PlannedFault } from './disk/fault.js'
export type { SimulatedDiskOptions } from './disk/machine.js'
export { type PendingChange, type PowerLossPolicy, subsets } from './disk/power-loss.js'
export { type DiskImage, SimulatedDisk } from './disk/simulated-disk.js'
export type { SimulatedProcess } from './disk/simulated-process.js'
export { documentedDefaults } from './documented-defaults.js'
export { Events, Uncaught } from './events.js'
export { NaiveModel } from './naive/model.js'
export type { NaiveRecord } from './naive/record.js'
export {
  byEligibility,
  firstEligible,
  isLoss,
  isReportOf,
  leftBy,
  lossOf,
  refusalOf,
  windowEndOf,
} from './naive/standing.js'
export type { NaiveCounters } from './naive/state.js'
export { eligibleAfter, findAttempt, type NaiveTask } from './naive/task.js'
export {
  type SimulatedConnection,
  SimulatedNetwork,
  type SimulatedNetworkOptions,
  type SimulatedSocket,
} from './network/simulated-network.js'
export { QuietChecks } from './quiet-checks.js'
export { Random } from './random.js'
export { SimulatedClock, type SimulatedClockOptions } from './simulated-clock.js'
export { SmallDisk } from './small-disk.js'
export { StallingProxy } from './stalling-proxy.js'
