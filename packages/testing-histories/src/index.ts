export { Book, type Submission } from './book.js'
export { sourceOf } from './source.js'
export { writeLog } from './write-log.js'
