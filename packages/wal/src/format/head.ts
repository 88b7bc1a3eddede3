import { crc32 } from 'node:zlib'
import type { Disk, DiskFile } from '../disk/disk.js'
import { readIfPresent, removeIfPresent, withFile, writeFully } from '../disk/files.js'
import { WalError } from '../errors.js'
import { isZero, readUint64, viewOf, writeUint64 } from './bytes.js'
import { formatVersion, logIdBytes } from './file-header.js'
import { type Layout, temporarySuffix } from './layout.js'
import { sectorBytes } from './limits.js'

/**
 * `HEAD` names the newest segment, so that its loss is noticed. It has two sectors, written in turn.
 * So a write needs no disk space and no new name, and if a crash destroys it, the other sector still
 * names the previous segment.
 *
 *     offset  bytes  in each sector
 *          0      8  magic "TENURHED"
 *          8      4  CRC32 of bytes 12 to 55
 *         12      4  format version
 *         16     16  log id
 *         32      8  sequence of the newest segment; it decides the sector: even 0, odd 1
 *         40      8  epoch of its writer
 *         48      8  era of the shared log that this log copies; 0 in a log of its own
 */
export interface Head {
  readonly logId: Uint8Array
  readonly sequence: number
  readonly epoch: number
  readonly era: number
}

const headBytes = 56
const headFileBytes = 2 * sectorBytes
const magic = 'TENURHED'

function encodeHead(head: Head): Uint8Array {
  const bytes = new Uint8Array(headBytes)
  const view = viewOf(bytes)
  bytes.set(Buffer.from(magic, 'latin1'), 0)
  view.setUint32(12, formatVersion, true)
  bytes.set(head.logId, 16)
  writeUint64(view, 32, head.sequence)
  writeUint64(view, 40, head.epoch)
  writeUint64(view, 48, head.era)
  view.setUint32(8, crc32(bytes.subarray(12)), true)
  return bytes
}

/** The newer of the two heads, the reason why neither is valid, or `undefined` if none was ever written. */
function decodeHeads(bytes: Uint8Array): Head | string | undefined {
  // Decode before checking the length, because a newer format may have another length.
  const heads = [0, sectorBytes].map((at) => decodeHead(bytes.subarray(at, at + headBytes)))
  if (bytes.length !== headFileBytes)
    return `it has ${bytes.length} bytes instead of ${headFileBytes}`
  if (isZero(bytes)) return undefined
  const [newer] = heads.filter((head) => head !== undefined).sort((a, b) => b.sequence - a.sequence)
  return newer ?? 'it fails its checksum'
}

function decodeHead(bytes: Uint8Array): Head | undefined {
  if (bytes.length < headBytes) return undefined
  const view = viewOf(bytes)
  if (Buffer.from(bytes.subarray(0, 8)).toString('latin1') !== magic) return undefined
  if (crc32(bytes.subarray(12)) !== view.getUint32(8, true)) return undefined
  const version = view.getUint32(12, true)
  if (version > formatVersion) {
    throw new WalError(
      'WAL_NEWER_FORMAT',
      `HEAD has format version ${version}; this release reads up to version ${formatVersion}`,
      { remedy: 'Open the log with the release that wrote it, or a newer one' },
    )
  }
  const [sequence, epoch, era] = [32, 40, 48].map((at) => readUint64(view, at)) as Triple
  if (![sequence, epoch, era].every(Number.isSafeInteger)) return undefined
  return { logId: bytes.slice(16, 16 + logIdBytes), sequence, epoch, era }
}

type Triple = [number, number, number]

/** The head, the reason why it cannot be read, or `undefined` if there is none yet. */
export async function readHead(disk: Disk, layout: Layout): Promise<Head | string | undefined> {
  const bytes = await readIfPresent(disk, layout.head)
  return bytes === undefined ? undefined : decodeHeads(bytes)
}

function isSame(head: Head | string | undefined, { epoch, sequence }: Head): boolean {
  return typeof head === 'object' && head.epoch === epoch && head.sequence === sequence
}

/** The writer's open `HEAD` file. */
export class HeadFile {
  readonly #disk: Disk
  readonly #layout: Layout
  readonly #file: DiskFile

  private constructor(disk: Disk, layout: Layout, file: DiskFile) {
    this.#disk = disk
    this.#layout = layout
    this.#file = file
  }

  /**
   * Opens the file, and recreates it if it is missing, too short or all zeros. In these cases the
   * open that created it stopped before its name was synced, or the sync failed. Another sync of
   * the same name may then do nothing.
   */
  static async open(disk: Disk, layout: Layout): Promise<HeadFile> {
    const bytes = await readIfPresent(disk, layout.head)
    if (bytes?.length !== headFileBytes || isZero(bytes)) {
      const temporary = layout.head + temporarySuffix
      await removeIfPresent(disk, temporary)
      await withFile(disk, temporary, 'create', async (file) => {
        await writeFully(file, new Uint8Array(headFileBytes), 0)
        await file.sync()
      })
      await disk.rename(temporary, layout.head)
    }
    // Also for an existing file, because it may have been copied here just now.
    await disk.syncDirectory(layout.root)
    return new HeadFile(disk, layout, await disk.open(layout.head, 'durable'))
  }

  /** Resolves when the new head is durable. */
  async write(head: Head): Promise<void> {
    await writeFully(this.#file, encodeHead(head), (head.sequence % 2) * sectorBytes)
  }

  /** Fails with `WAL_FENCED` if the file named `HEAD` is not what this writer wrote last. */
  async refuseIfSuperseded(own: Head): Promise<void> {
    const head = await readHead(this.#disk, this.#layout)
    if (isSame(head, own)) return
    if (typeof head === 'object') {
      const epochs = `epoch ${head.epoch} after ${own.epoch}`
      throw new WalError(
        'WAL_FENCED',
        `another process opened this log for writing (${epochs}), so this one stopped`,
        { remedy: 'Stop the other process, then restart this one' },
      )
    }
    throw new WalError(
      'WAL_FENCED',
      `the HEAD file of this log is missing or damaged, so this process stopped writing (epoch ${own.epoch})`,
      { remedy: 'Find out what changed the file, then open the log again' },
    )
  }

  /** Fails with `WAL_FENCED` if another process has created a segment since `HEAD` was read. */
  async refuseIfChanged(seen: Head | string | undefined): Promise<void> {
    const head = await readHead(this.#disk, this.#layout)
    if (typeof head !== 'object' || (typeof seen === 'object' && isSame(head, seen))) return
    throw new WalError(
      'WAL_FENCED',
      `another process created segment ${head.sequence} with epoch ${head.epoch} while this process opened the log`,
      { remedy: 'Stop one of the two processes, and open the log again' },
    )
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
