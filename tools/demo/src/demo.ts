import { setTimeout as wait } from 'node:timers/promises'
import { parseOptions, runStoppableTool, UsageError } from '@tenure/harness'
import { scenes } from './scenes.js'
import { Stage } from './stage.js'

const usage = `npx pnpm demo [--lease <ms>] [--pause <ms>]

  Show what happens to tasks when a worker, the coordinator or the network fails, with real processes.
  --lease  lease duration (default 4000)
  --pause  reading time before each scene (default 4000)`

const [bold, plain] = process.stdout.isTTY ? ['\u001b[1m', '\u001b[0m'] : ['', '']
const ending = `
${bold}A task may run more than once, and Tenure can explain every extra run.${plain}
Next: read docs/tour.md, or run npx pnpm start
`

await runStoppableTool(usage, (args, signal) => show(readTimes(args), signal))

async function show({ leaseMs, pauseMs }: Times, signal: AbortSignal): Promise<number> {
  const stage = await Stage.set(leaseMs, (text) => console.log(text), signal)
  try {
    await stage.unlessInterrupted(stage.startCoordinator())
    for (const [index, { title, intro, play }] of scenes.entries()) {
      console.log(`\n${bold}${index + 1} of ${scenes.length}: ${title}${plain}\n${intro}\n`)
      // Time to read the introduction.
      await wait(pauseMs, undefined, { signal })
      console.log(`\n${bold}→ ${await stage.unlessInterrupted(play(stage))}${plain}`)
    }
    console.log(ending)
    return 0
  } catch (error) {
    // An interrupted scene may fail anywhere.
    if (signal.aborted) throw error
    console.error(`\nThe demonstration failed: ${(error as Error).message}`)
    return 1
  } finally {
    await stage.tearDown()
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
