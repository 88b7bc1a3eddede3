import type { Bench } from './bench.js'
import { askAndKill } from './child-process.js'
import type { Result } from './result.js'

interface Memory {
  readonly rssMiB: number
  readonly peakMiB: number
}

export const expectedMemoryMs = 4000

/** What a process holds more than bare Node: with an idle log, and at most while it replays. */
export async function measureMemory({ directory, progress }: Bench): Promise<Result[]> {
  progress.begin('memory', expectedMemoryMs)
  const bare = await askAndKill<Memory>('memory', 'bare')
  const idle = await askAndKill<Memory>('memory', 'idle', directory.join('idle'))
  const replay = await askAndKill<Memory>('memory', 'replay', directory.join('tenure'))
  return [
    resultOf('idle', idle.rssMiB - bare.rssMiB),
    resultOf('replay', replay.peakMiB - bare.peakMiB),
  ]
}

function resultOf(state: 'idle' | 'replay', rssOverBareMiB: number): Result {
  return {
    system: 'tenure',
    case: 'memory',
    appenders: 0,
    recordBytes: 128,
    sync: 'always',
    recordsPerSecond: null,
    p50Ms: null,
    p99Ms: null,
    p999Ms: null,
    bytesPerSecond: null,
    rounds: 1,
    state,
    rssOverBareMiB: Number(rssOverBareMiB.toFixed(1)),
  }
}
