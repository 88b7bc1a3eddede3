import { constants } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { scenes } from './scenes.js'
import { Stage } from './stage.js'

/**
 * `pnpm demo`: what happens to tasks when things go wrong, with real processes. `--lease <ms>` and
 * `--pause <ms>`, the time to read before each scene, make it quicker or slower.
 */
const { leaseMs, pauseMs } = readTimes(process.argv.slice(2))
const [bold, plain] = process.stdout.isTTY ? ['\u001b[1m', '\u001b[0m'] : ['', '']
const ending = `
${bold}Execution is at least once, and every second execution can be explained.${plain}
Read on in docs/tour.md, or try it yourself: npx pnpm start
`

const told = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    process.exitCode ??= 128 + constants.signals[signal]
    told.abort()
  })
}
const stage = await Stage.set(leaseMs, (text) => console.log(text), told.signal)
try {
  await stage.unlessOver(stage.startCoordinator())
  for (const [index, { title, intro, play }] of scenes.entries()) {
    console.log(`\n${bold}${index + 1} of ${scenes.length}: ${title}${plain}\n${intro}\n`)
    // To read what comes.
    await wait(pauseMs, undefined, { signal: told.signal })
    console.log(`\n${bold}→ ${await stage.unlessOver(play(stage))}${plain}`)
  }
  console.log(ending)
} catch (error) {
  // What was told to stop may end wherever it was.
  if (!told.signal.aborted) {
    console.error(`\nThe demonstration went another way: ${(error as Error).message}`)
    process.exitCode = 1
  }
} finally {
  await stage.clear()
}

function readTimes(args: readonly string[]): { leaseMs: number; pauseMs: number } {
  const options = { lease: { type: 'string' }, pause: { type: 'string' } } as const
  const { lease = '4000', pause = '4000' } = parseArgs({ args: [...args], options }).values
  return { leaseMs: readMs('--lease', lease, 500), pauseMs: readMs('--pause', pause, 0) }
}

function readMs(flag: string, text: string, min: number): number {
  const ms = Number(text)
  if (Number.isInteger(ms) && ms >= min && ms <= 60_000) return ms
  throw new Error(`${flag} is ${text}; it must be whole milliseconds from ${min} to 60000`)
}
