export { type ContractTest, type EmptyLog, testSharedLog } from './contract.js'
export {
  type DecodedEntry,
  decodeEntry,
  type Entry,
  type EntryKind,
  encodeEntry,
  entryBytes,
  isEntryOf,
} from './entry.js'
export { SharedLogError, type SharedLogErrorCode } from './errors.js'
export { type Fate, MemoryEngine, type MemoryEngineOptions, type Passage } from './memory-engine.js'
export type {
  AppendOutcome,
  LogRange,
  SharedCheckpoints,
  SharedLog,
  StoredEntry,
} from './shared-log.js'
