import { parentPort, workerData } from 'node:worker_threads'
import { openReadOnly } from '@tenure/wal'
import { readPage } from './history-page.js'
import type { FromHistoryThread, ToHistoryThread } from './history-thread.js'

/** Entry point of the history thread; it reads one page at a time. */
const port = parentPort
if (port === null) throw new Error('this module must run in a worker thread')
const { dataDir } = workerData as { readonly dataDir: string }
let reading = new AbortController()

port.on('message', (message: ToHistoryThread) => {
  if (message.kind === 'abort') {
    reading.abort()
    return
  }
  reading = new AbortController()
  const tell = (answer: FromHistoryThread) => port.postMessage(answer)
  readPage(() => openReadOnly(dataDir), message.query, { signal: reading.signal }).then(
    (page) => tell({ kind: 'page', page }),
    (error) => tell({ kind: 'failed', why: error instanceof Error ? error.message : `${error}` }),
  )
})
