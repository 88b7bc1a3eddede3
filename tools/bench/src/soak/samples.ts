import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Memory of a process and disk usage of a directory at one moment. */
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

/** Size of the files on the disk. A file may be removed during the count. */
function bytesIn(directory: string): number {
  return readdirSync(directory).reduce((sum, name) => {
    const found = statSync(join(directory, name), { throwIfNoEntry: false })
    return sum + (found?.blocks ?? 0) * 512
  }, 0)
}
