export { Unreadable, type ValueKind, ValueReader } from './value-reader.js'
export { ValueWriter } from './value-writer.js'
