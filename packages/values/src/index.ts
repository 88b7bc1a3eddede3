export { Unreadable, ValueReader } from './value-reader.js'
export { ValueWriter } from './value-writer.js'
