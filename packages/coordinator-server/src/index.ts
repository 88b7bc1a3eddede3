export {
  type CheckpointKnobs,
  checkpointRanges,
  defaultCheckpointKnobs,
} from './checkpoints/checkpoint-knobs.js'
export type { CheckpointMaker, MadeCheckpoint } from './checkpoints/checkpoint-maker.js'
export { type CheckpointMeans, checkpointLog } from './checkpoints/checkpoint-of-log.js'
export type { Checkpointed, CheckpointObserver } from './checkpoints/checkpointer.js'
export { logBytesBound } from './checkpoints/replay-estimate.js'
export type { CommitLog, Room } from './core/commit-log.js'
export { Coordinator } from './core/coordinator.js'
export type { CoordinatorObserver, CoordinatorParts } from './core/parts.js'
export type { Session } from './core/pending-request.js'
export { type RecoveryOptions, type ReplayedLog, recover } from './core/recovery.js'
export { DecisionTime } from './decide/decision-time.js'
export { defaultKnobs, type Knobs } from './decide/knobs.js'
export type { Advice } from './decide/lease-manager.js'
export { WorkerRegistry } from './decide/worker-registry.js'
export { CoordinatorError, type CoordinatorErrorCode } from './errors.js'
export type { HistoryPage, HistoryQuery, HistoryReader } from './history/history-page.js'
export { readPage } from './history/history-page.js'
export { Gate, type Token } from './net/gate.js'
export { defaultLimits, type ServerLimits } from './net/limits.js'
export type { PeerContext } from './net/peer.js'
export { Peers } from './net/peers.js'
export type { Listener, Socket, Transport } from './net/transport.js'
export {
  type CoordinatorOptions,
  knobRanges,
  type ServerObserver,
  type Started,
} from './options/options.js'
export { type CoordinatorServer, startCoordinator } from './server.js'
