import { closeSync, constants, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { Latencies } from '@tenure/harness'
import type { Figure } from './figure.js'

const blockBytes = 4096
const fileBlocks = 4096

/**
 * How long one write takes that is on the disk when it returns. No durable submission can be
 * faster.
 */
export function measureBareDisk(root: string, seconds: number): Figure {
  const path = join(root, 'bare')
  const block = Buffer.alloc(blockBytes, 1)
  const flags = constants.O_CREAT | constants.O_RDWR | constants.O_DSYNC
  const file = openSync(path, flags, 0o600)
  try {
    // As in a log, the file has its full size before the first write.
    for (let at = 0; at < fileBlocks; at += 256) {
      writeSync(file, Buffer.alloc(256 * blockBytes), 0, 256 * blockBytes, at * blockBytes)
    }
    const latencies = new Latencies()
    const startMs = performance.now()
    const endMs = startMs + seconds * 1000
    for (let count = 0, begunMs = startMs; begunMs < endMs; count++) {
      writeSync(file, block, 0, blockBytes, (count % fileBlocks) * blockBytes)
      const endedMs = performance.now()
      latencies.add(endedMs - begunMs)
      begunMs = endedMs
    }
    return {
      system: 'bare disk',
      durability: 'before the answer',
      work: 'sync',
      liveTasks: 0,
      connections: 1,
      inFlight: 1,
      opsPerSecond: latencies.count / seconds,
      p50Ms: latencies.quantile(0.5),
      p99Ms: latencies.quantile(0.99),
    }
  } finally {
    closeSync(file)
    rmSync(path)
  }
}
