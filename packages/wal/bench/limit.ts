import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { Latencies } from '@tenure/harness'
import { makeRecord } from './appenders.js'
import { DsyncFile } from './dsync-file.js'
import type { Sample } from './result.js'

export type Way = 'pool' | 'loop'

const fileBytes = 64 * 1024 * 1024
const readBytes = 1024 * 1024

/**
 * The limit for any log on this machine: sequential durable writes into a preallocated file, and
 * nothing else.
 */
export class LimitFile {
  readonly #file: DsyncFile
  readonly #bytes = makeRecord(1024 * 1024)

  constructor(path: string) {
    this.#file = new DsyncFile(path, fileBytes)
  }

  /** Writes of this size for this long. Starts over when the file is full. */
  async measure(
    way: Way,
    bytesPerWrite: number,
    recordsPerWrite: number,
    windowMs: number,
  ): Promise<Sample> {
    const latencies = new Latencies()
    const bytes = this.#bytes.subarray(0, Math.round(bytesPerWrite))
    const startedMs = performance.now()
    let endedMs = startedMs
    let position = 0
    while (endedMs - startedMs < windowMs) {
      if (position + bytes.length > fileBytes) position = 0
      if (way === 'loop') this.#file.writeOnLoop(bytes, position)
      else await this.#file.writeOnPool(bytes, position)
      position += bytes.length
      const nowMs = performance.now()
      latencies.add(nowMs - endedMs)
      endedMs = nowMs
    }
    return {
      recordsPerSecond: (latencies.count * recordsPerWrite * 1000) / (endedMs - startedMs),
      p50Ms: latencies.quantile(0.5),
      p99Ms: latencies.quantile(0.99),
      p999Ms: latencies.quantile(0.999),
      bytesPerWrite: bytes.length,
      recordsPerWrite,
    }
  }

  close(): void {
    this.#file.close()
  }
}

/** Reads a log's segments from start to end without using the content, and returns the time. */
export function readSegmentsMs(directory: string): number {
  const into = new Uint8Array(readBytes)
  const segments = join(directory, 'wal')
  const startedMs = performance.now()
  for (const name of readdirSync(segments).sort()) {
    if (!name.endsWith('.wal')) continue
    const fd = openSync(join(segments, name), 'r')
    while (readSync(fd, into, 0, into.length, null) > 0);
    closeSync(fd)
  }
  return performance.now() - startedMs
}
