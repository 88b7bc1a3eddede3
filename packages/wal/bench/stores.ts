import { openLevelDb } from './leveldb-store.js'
import { openLmdb } from './lmdb-store.js'
import type { Store, StoreName } from './store.js'
import { openTenure } from './tenure-store.js'

export const storeNames: readonly StoreName[] = ['tenure', 'lmdb', 'leveldb']

export const openStore: Record<StoreName, (directory: string) => Promise<Store>> = {
  tenure: openTenure,
  lmdb: openLmdb,
  leveldb: openLevelDb,
}
