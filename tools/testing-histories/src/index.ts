export { Book, type Submission } from './book.js'
export { randomBook } from './random-book.js'
export { sourceOf } from './source.js'
export { writeLog } from './write-log.js'
