import { runStoppableTool, UsageError } from '@tenure/harness'
import { runBombs } from './bombs/bomb-run.js'
import { tryOnce } from './campaign/campaign.js'
import { readFinding } from './campaign/finding-files.js'
import { runFuzz } from './campaign/fuzz-run.js'
import { Watchdog } from './campaign/watchdog.js'
import { type CommandLine, parseCommandLine, usage } from './options.js'
import { openTarget, targetNames } from './targets.js'

await runStoppableTool(usage, (args, signal) =>
  run(parseCommandLine(args, Date.now() % 1_000_000), signal),
)

async function run(commandLine: CommandLine, signal: AbortSignal): Promise<number> {
  const { json, replay } = commandLine
  if (replay !== undefined) return tryAgain(replay, json)
  const summary = commandLine.bombs
    ? await runBombs(commandLine, process.stderr, signal)
    : await runFuzz(commandLine, process.stderr, signal)
  console.log(json ? JSON.stringify(summary) : describe(summary))
  const isGood = 'survived' in summary ? summary.survived : summary.findings.length === 0
  return isGood ? 0 : 1
}

async function tryAgain(path: string, json: boolean): Promise<number> {
  const { target: name, input } = readFinding(path)
  if (!targetNames.includes(name)) {
    throw new UsageError(`--replay is ${path}; it must be a finding of ${targetNames.join(', ')}`)
  }
  const target = openTarget(name)
  await using watchdog = new Watchdog(name)
  watchdog.watch(input)
  const violation = await tryOnce(target, input)
  target.close?.()
  const { check, message } = violation ?? {}
  if (json) console.log(JSON.stringify({ target: name, check: check ?? null, detail: message }))
  else if (violation === undefined) console.log(`${path}: all checks hold`)
  else console.log(`${path}: violated: ${check}\n${message}`)
  return violation === undefined ? 0 : 1
}

function describe(summary: object): string {
  return Object.entries(summary)
    .map(([name, value]) => `${name.padEnd(18)} ${JSON.stringify(value)}`)
    .join('\n')
}
