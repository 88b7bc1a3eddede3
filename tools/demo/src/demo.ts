import { setTimeout as wait } from 'node:timers/promises'
import { parseOptions, runStoppableTool, UsageError } from '@tenure/harness'
import { scenes } from './scenes.js'
import { Stage } from './stage.js'

const usage = `pnpm demo [--lease ms] [--pause ms]

  What happens to tasks when things go wrong, with real processes.
  --lease  how long a lease is (4000)
  --pause  the time to read before each scene (4000)`

const [bold, plain] = process.stdout.isTTY ? ['\u001b[1m', '\u001b[0m'] : ['', '']
const ending = `
${bold}Execution is at least once, and every second execution can be explained.${plain}
Read on in docs/tour.md, or try it yourself: npx pnpm start
`

await runStoppableTool(usage, (args, signal) => show(readTimes(args), signal))

async function show({ leaseMs, pauseMs }: Times, signal: AbortSignal): Promise<number> {
  const stage = await Stage.set(leaseMs, (text) => console.log(text), signal)
  try {
    await stage.unlessOver(stage.startCoordinator())
    for (const [index, { title, intro, play }] of scenes.entries()) {
      console.log(`\n${bold}${index + 1} of ${scenes.length}: ${title}${plain}\n${intro}\n`)
      // To read what comes.
      await wait(pauseMs, undefined, { signal })
      console.log(`\n${bold}→ ${await stage.unlessOver(play(stage))}${plain}`)
    }
    console.log(ending)
    return 0
  } catch (error) {
    // What was told to stop may end wherever it was.
    if (signal.aborted) throw error
    console.error(`\nThe demonstration went another way: ${(error as Error).message}`)
    return 1
  } finally {
    await stage.clear()
  }
}

interface Times {
  readonly leaseMs: number
  readonly pauseMs: number
}

function readTimes(args: readonly string[]): Times {
  const { lease = '4000', pause = '4000' } = parseOptions(args, {
    lease: 'string',
    pause: 'string',
  })
  return { leaseMs: readMs('--lease', lease, 500), pauseMs: readMs('--pause', pause, 0) }
}

function readMs(flag: string, text: string, min: number): number {
  const ms = Number(text)
  if (Number.isInteger(ms) && ms >= min && ms <= 60_000) return ms
  throw new UsageError(`${flag} is ${text}; it must be whole milliseconds from ${min} to 60000`)
}
