import { runTool, UsageError } from '@tenure/harness'
import type { Bug } from './bugs/bug.js'
import { bugs, describeHunt, hunt } from './bugs/hunt.js'
import { type CommandLine, parseCommandLine, usage } from './options.js'
import { explore, replay } from './play/explore.js'
import { describeSummary } from './play/summary.js'
import { drawScenario } from './scenario/draw.js'
import { readScenario } from './scenario/scenario-file.js'

await runTool(usage, (args) => main(parseCommandLine(args, Date.now() % 1_000_000_000)))

async function main(options: CommandLine): Promise<number> {
  const { bugs, json } = options
  if (bugs !== 'none') {
    const found = await hunt(bugsOf(bugs), options.threads, process.stderr)
    console.log(json ? JSON.stringify(found) : describeHunt(found))
    return found.failures.length === 0 ? 0 : 1
  }
  const summary = await playAll(options)
  console.log(json ? JSON.stringify(summary) : describeSummary(summary))
  return summary.failures.length === 0 ? 0 : 1
}

function bugsOf(asked: Exclude<CommandLine['bugs'], 'none'>): readonly Bug[] {
  if (asked === 'all') return bugs
  const bug = bugs.find(({ name }) => name === asked.name)
  if (bug !== undefined) return [bug]
  throw new UsageError(
    `--bug is ${asked.name}; it must be one of ${bugs.map(({ name }) => name).join(', ')}`,
  )
}

function playAll(options: CommandLine) {
  const { scenario, seed, seeds, minutes, events, log } = options
  const onLine = events ? (line: string) => process.stderr.write(line) : undefined
  if (scenario !== undefined) return replay(readScenario(scenario).scenario, onLine)
  if (events && seeds === 1 && minutes === undefined) return replay(drawScenario(seed, log), onLine)
  return explore(options, process.stderr)
}
