import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** What a process and a directory take at some moment. */
export interface Sample {
  readonly second: number
  readonly residentBytes: number
  readonly logBytes: number
  readonly checkpointBytes: number
}

export function takeSample(second: number, pid: number, dataDir: string): Sample {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const [, kib = 'NaN'] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? []
  return {
    second,
    residentBytes: Number(kib) * 1024,
    logBytes: bytesIn(join(dataDir, 'wal')),
    checkpointBytes: bytesIn(join(dataDir, 'checkpoint')),
  }
}

/** What the files take on the disk. One may go while they are counted. */
function bytesIn(directory: string): number {
  return readdirSync(directory).reduce((sum, name) => {
    const found = statSync(join(directory, name), { throwIfNoEntry: false })
    return sum + (found?.blocks ?? 0) * 512
  }, 0)
}
