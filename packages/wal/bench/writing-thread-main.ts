import { workerData } from 'node:worker_threads'
import { writeDurably } from './dsync-file.js'
import { word } from './writing-thread.js'

interface Shared {
  readonly fd: number
  readonly buffer: Uint8Array
  readonly words: Int32Array
}

const { fd, buffer, words } = workerData as Shared

for (let done = 0; ; done++) {
  Atomics.wait(words, word.asked, done)
  writeDurably(fd, buffer.subarray(0, words[word.bytes]), words[word.position] ?? 0)
  Atomics.store(words, word.done, done + 1)
  Atomics.notify(words, word.done)
}
