export { type Backup, type BackupOptions, backupLog } from './backup.js'
export type { Clock, Timer } from './clock.js'
export type { CopyProgress } from './copy-log.js'
export type { AcceptedLoss, Damage, HistoryDamage } from './damage.js'
export { type CutOff, Diagnosis, diagnoseLog, type Remain } from './diagnosis.js'
export type { Disk, DiskFile, LockAttempt, OpenMode } from './disk.js'
export { WalDamageError, WalError, type WalErrorCode } from './errors.js'
export type { BadCheckpoint, Gap } from './examine.js'
export {
  type Log,
  type LogSegment,
  openLog,
  type Recovery,
  type SegmentInfo,
  type TruncateOptions,
  type Truncation,
} from './log.js'
export {
  type FollowOptions,
  type LogReader,
  openReadOnly,
  type ReaderSegment,
  type ReadOnlyOptions,
} from './log-reader.js'
export type { Lsn } from './lsn.js'
export { makeCheckpoint } from './make-checkpoint.js'
export { nodeDisk } from './node-disk.js'
export type { Commit, LogObserver } from './observer.js'
export type { LogOpening } from './openings.js'
export type { LogOptions, SyncMode } from './options.js'
export type { Records } from './records.js'
export { type Restored, type RestoreOptions, restoreLog } from './restore.js'
export type { Claim, Urgency } from './room.js'
export type { Run } from './runs.js'
export { systemClock } from './system-clock.js'
export { type Verification, verifyLog } from './verify.js'
