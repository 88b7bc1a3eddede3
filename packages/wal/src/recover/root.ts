import type { Disk } from '../disk/disk.js'
import { listIfPresent } from '../disk/files.js'
import { systemCode, WalError } from '../errors.js'
import { isRootName, type Layout } from '../format/layout.js'

const whatToName =
  'Name a directory that holds a log; a new log needs one that is empty or does not exist.'

/** The names in the log's directory, none when it does not exist; refuses one that is something else. */
export async function listRoot(disk: Disk, layout: Layout): Promise<string[]> {
  let entries: string[]
  try {
    entries = await listIfPresent(disk, layout.root)
  } catch (error) {
    if (systemCode(error) !== 'ENOTDIR') throw error
    throw new WalError('WAL_NOT_A_LOG', `${layout.root} is not a directory. ${whatToName}`)
  }
  const foreign = entries.filter((name) => !isRootName(name)).sort()[0]
  const isLog = entries.some((name) => name === 'HEAD' || name === 'wal')
  if (foreign === undefined || isLog) return entries
  throw new WalError(
    'WAL_NOT_A_LOG',
    `${layout.root} is not a log: it has no HEAD but holds "${foreign}". ${whatToName}`,
  )
}
