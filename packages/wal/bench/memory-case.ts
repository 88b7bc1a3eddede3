import { askScript, tellStep } from '@tenure/harness'
import type { Bench } from './options.js'
import type { Result } from './result.js'

interface Memory {
  readonly rssMiB: number
  readonly peakMiB: number
}

const child = new URL('./child.js', import.meta.url)

/** Memory above that of bare Node: with an idle log, and the peak during a replay. */
export async function measureMemory({ directory }: Bench): Promise<Result[]> {
  tellStep('memory')
  const bare = await askScript<Memory>(child, ['memory', 'bare'])
  const idle = await askScript<Memory>(child, ['memory', 'idle', directory.join('idle')])
  const replay = await askScript<Memory>(child, ['memory', 'replay', directory.join('tenure')])
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
