export { type Backup, type BackupOptions, backupLog } from './copy/backup.js'
export type { CopyProgress } from './copy/copy-log.js'
export { type Restored, type RestoreOptions, restoreLog } from './copy/restore.js'
export {
  attachLog,
  detachCopy,
  type MachineOptions,
  type SeedPlace,
  seedCopy,
} from './copy/shared-log-copy.js'
export type { AcceptedLoss, Damage, HistoryDamage } from './damage.js'
export type { Disk, DiskFile, LockAttempt, OpenMode } from './disk/disk.js'
export { nodeDisk } from './disk/node-disk.js'
export { WalDamageError, WalError, type WalErrorCode, type WalErrorOptions } from './errors.js'
export { spareFilesMax } from './format/limits.js'
export { type CutOff, Diagnosis, diagnoseLog, type SalvagedBatch } from './inspect/diagnosis.js'
export { type LogOpening, type Verification, verifyLog } from './inspect/verify.js'
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
export type { Commit, LogObserver, LogOptions, SharedLogIdentity, SyncMode } from './options.js'
export type { BadCheckpoint, Gap } from './recover/examination.js'
export type { RecordRange } from './scan/record-range.js'
export type { Records } from './write/records.js'
export type { Claim, Urgency } from './write/space-budget.js'
