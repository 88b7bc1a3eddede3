export {
  type CheckpointKnobs,
  checkpointRanges,
  defaultCheckpointKnobs,
} from './checkpoints/checkpoint-knobs.js'
export type { CheckpointMaker, MadeCheckpoint } from './checkpoints/checkpoint-maker.js'
export { type CheckpointMeans, checkpointLog } from './checkpoints/checkpoint-of-log.js'
export type { Checkpointed, CheckpointObserver } from './checkpoints/checkpointer.js'
export { logBytesBound } from './checkpoints/log-bytes-bound.js'
export type { CommitLog, Room } from './commit-log.js'
export { Coordinator, type Session } from './coordinator.js'
export { type Clock, DecisionTime, type Timer } from './decision-time.js'
export { CoordinatorError, type CoordinatorErrorCode } from './errors.js'
export { Gate, type Token } from './gate.js'
export { readPage } from './history/history-page.js'
export type { HistoryPage, HistoryQuery, HistoryReader } from './history/history-reader.js'
export { defaultKnobs, type Knobs } from './knobs.js'
export type { Advice } from './lease-manager.js'
export type { CoordinatorObserver } from './observer.js'
export {
  type CoordinatorOptions,
  defaultLimits,
  knobRanges,
  type ServerLimits,
  type ServerObserver,
  type Started,
} from './options.js'
export type { CoordinatorParts } from './parts.js'
export type { PeerContext } from './peer.js'
export { Peers } from './peers.js'
export { type RecoveryOptions, type ReplayedLog, recover } from './recovery.js'
export { type CoordinatorServer, startCoordinator } from './server.js'
export type { Listener, Socket, Transport } from './transport.js'
export { WorkerRegistry } from './worker-registry.js'
