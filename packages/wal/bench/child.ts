/**
 * Work that needs its own process, because the process is killed or its memory is measured.
 * Prints one line of JSON, then waits to be killed.
 *
 *     child build <store> <directory> <payload bytes>
 *     child open <store> <directory>
 *     child memory bare|idle|replay <directory>
 *
 * Imports are dynamic, because `memory bare` must measure Node and nothing else.
 */
const [task = '', what = '', directory = '', bytes = '0'] = process.argv.slice(2)

const answer = await carryOut()
process.stdout.write(`${JSON.stringify(answer)}\n`)
setInterval(() => {}, 1000)
// Otherwise it would outlive its parent.
process.stdin.on('end', () => process.exit()).resume()

async function carryOut(): Promise<unknown> {
  if (task === 'memory') return measureMemory()
  const { buildStore, openAfterCrash } = await import('./crash.js')
  return task === 'build'
    ? buildStore(what, directory, Number(bytes))
    : openAfterCrash(what, directory)
}

async function measureMemory(): Promise<{ rssMiB: number; peakMiB: number }> {
  if (what !== 'bare') {
    const { openTenure } = await import('./tenure-store.js')
    const store = await openTenure(directory)
    if (what === 'replay') await store.replay()
    else await store.append(new Uint8Array(128))
  }
  await new Promise((resolve) => setTimeout(resolve, 500))
  const MiB = 1024 * 1024
  return {
    rssMiB: process.memoryUsage.rss() / MiB,
    peakMiB: process.resourceUsage().maxRSS / 1024,
  }
}
