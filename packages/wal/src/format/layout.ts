import { join } from 'node:path'
import type { Lsn } from '../lsn.js'

/**
 * The files of a log's directory.
 *
 *     HEAD                                   names the newest segment
 *     LOCK                                   held by the one process that may write
 *     wal/0000000000000001-00000001.wal      a segment: its sequence and its writer's epoch
 *     wal/spare-00000001-0000000000000001    a file of that epoch that will become a segment again
 *     wal/reserve-00000001                   zeros, kept for an open of the log on a full disk
 *     checkpoint/0000000000004711.ckpt       the caller's state after that LSN
 *     quarantine/                            every byte that was ever cut off
 *
 * `*.tmp` is a file in preparation. The next open removes what a crash left.
 */
export class Layout {
  readonly root: string
  readonly head: string
  readonly lock: string
  readonly segments: string
  readonly checkpoints: string
  readonly quarantine: string

  constructor(root: string) {
    this.root = root
    this.head = join(root, 'HEAD')
    this.lock = join(root, 'LOCK')
    this.segments = join(root, 'wal')
    this.checkpoints = join(root, 'checkpoint')
    this.quarantine = join(root, 'quarantine')
  }

  segment(name: string): string {
    return join(this.segments, name)
  }

  /** Each epoch's spares have their own names, so that a superseded writer cannot use them. */
  spare(epoch: number, number: number): string {
    return join(this.segments, `spare-${digits(epoch, 8)}-${digits(number, 16)}`)
  }

  reserve(epoch: number): string {
    return join(this.segments, `reserve-${digits(epoch, 8)}`)
  }

  checkpoint(lsn: Lsn): string {
    return join(this.checkpoints, checkpointName(lsn))
  }
}

export const temporarySuffix = '.tmp'

/** Whether a log's directory may contain this name. New file systems contain `lost+found`. */
export function isRootName(name: string): boolean {
  return /^(HEAD|HEAD\.tmp|LOCK|wal|checkpoint|quarantine|lost\+found)$/.test(name)
}

export function segmentName(sequence: number, epoch: number): string {
  return `${digits(sequence, 16)}-${digits(epoch, 8)}.wal`
}

/** The number in a spare's name, or `undefined` for other names. */
export function numberOfSpareName(name: string): number | undefined {
  const match = /^spare-\d{8,}-(\d{16})$/.exec(name)
  return match === null ? undefined : Number(match[1])
}

export function isReserveName(name: string): boolean {
  return /^reserve-\d{8,}$/.test(name)
}

/** The sequence and epoch in a segment's name, or `undefined` for other names. */
export function parseSegmentName(name: string): { sequence: number; epoch: number } | undefined {
  const match = /^(\d{16})-(\d{8,})\.wal$/.exec(name)
  return match === null ? undefined : { sequence: Number(match[1]), epoch: Number(match[2]) }
}

export function checkpointName(lsn: Lsn): string {
  return `${digits(lsn, 16)}.ckpt`
}

/** The LSN in a checkpoint's name, or `undefined` for other names. */
export function lsnOfCheckpointName(name: string): Lsn | undefined {
  const match = /^(\d{16})\.ckpt$/.exec(name)
  return match === null ? undefined : Number(match[1])
}

/** The file's path relative to the log's directory, as used in messages. */
export function segmentPath(name: string): string {
  return `wal/${name}`
}

export function checkpointPath(lsn: Lsn): string {
  return `checkpoint/${checkpointName(lsn)}`
}

function digits(value: number, count: number): string {
  return String(value).padStart(count, '0')
}
