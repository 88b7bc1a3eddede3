import { parentPort, workerData } from 'node:worker_threads'
import { openReadOnly } from '@tenure/wal'
import { readPage } from './history-page.js'
import type { FromHistoryThread, ToHistoryThread } from './history-thread.js'

/** The part that runs in the thread: it reads a page when it is told to, one at a time. */
const port = parentPort
if (port === null) throw new Error('this runs in a thread of the coordinator only')
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
