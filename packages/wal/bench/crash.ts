import { makeRecord } from './appenders.js'
import type { Store, StoreName } from './store.js'
import { openStore, storeNames } from './stores.js'

const recordBytes = 128
const appenders = 256
const recordsPerBatch = 1000
const batchAppenders = 4

/** Fills a store and leaves it open, so that the process can be killed. */
export async function buildStore(name: string, directory: string, payloadBytes: number) {
  const store = await openStore[storeNamed(name)](directory)
  const records = Math.ceil(payloadBytes / recordBytes)
  if (name === 'tenure') await appendSingly(store, records)
  // In the other stores single appends leave the same data, and batches are much faster.
  else await appendBatches(store, records)
  return { records: name === 'tenure' ? records : wholeBatches(records) }
}

/** Opens what a killed process has left and appends a few records. Then this process is killed, too. */
export async function openAfterCrash(name: string, directory: string) {
  const open = openStore[storeNamed(name)]
  const startedMs = performance.now()
  const store = await open(directory)
  const openMs = performance.now() - startedMs
  await appendSingly(store, appenders)
  return { openMs }
}

async function appendSingly(store: Store, records: number): Promise<void> {
  const record = makeRecord(recordBytes)
  let left = records
  async function appendUntilDone(): Promise<void> {
    while (left-- > 0) await store.append(record)
  }
  await Promise.all(Array.from({ length: appenders }, appendUntilDone))
}

async function appendBatches(store: Store, records: number): Promise<void> {
  const record = makeRecord(recordBytes)
  const batch = Array.from({ length: recordsPerBatch }, () => record)
  let left = wholeBatches(records) / recordsPerBatch
  async function appendUntilDone(): Promise<void> {
    while (left-- > 0) await store.appendAll(batch)
  }
  await Promise.all(Array.from({ length: batchAppenders }, appendUntilDone))
}

function wholeBatches(records: number): number {
  return Math.ceil(records / recordsPerBatch) * recordsPerBatch
}

function storeNamed(name: string): StoreName {
  const found = storeNames.find((store) => store === name)
  if (found === undefined) throw new Error(`"${name}" is not a known store`)
  return found
}
