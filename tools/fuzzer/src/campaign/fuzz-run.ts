import type { ProgressOutput } from '@tenure/harness'
import { openTarget } from '../targets.js'
import { fuzz } from './campaign.js'
import { describeFinding, type FoundInFile, keepFinding } from './finding-files.js'
import { Watchdog } from './watchdog.js'

export interface FuzzOptions {
  /** For each target. */
  readonly minutes: number
  readonly targets: readonly string[]
  readonly seed: number
}

/** What a run comes to. */
export interface Summary {
  readonly seed: number
  readonly minutes: number
  /** How many were tried, by target. */
  readonly inputs: Readonly<Record<string, number>>
  /** In how many different ways they ended. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly findings: readonly FoundInFile[]
}

/** Tries all targets, one after the other, and keeps what it finds in files. */
export async function runFuzz(
  { minutes, targets, seed }: FuzzOptions,
  output: ProgressOutput,
  signal: AbortSignal,
): Promise<Summary> {
  const inputs: Record<string, number> = {}
  const outcomes: Record<string, number> = {}
  const findings: FoundInFile[] = []
  for (const name of targets) {
    await using watchdog = new Watchdog(name)
    const target = openTarget(name)
    const endMs = performance.now() + minutes * 60_000
    const campaign = await fuzz(target, {
      seed,
      // However short the time is, one input is tried.
      isOver: (tried) => signal.aborted || (tried > 0 && performance.now() >= endMs),
      onTry: (input) => watchdog.watch(input),
      onFinding: (finding) => {
        findings.push(keepFinding(finding))
        output.write(describeFinding(findings.at(-1)!))
      },
    })
    target.close?.()
    inputs[name] = campaign.inputs
    outcomes[name] = campaign.outcomes.size
    output.write(
      `${name.padEnd(14)} ${campaign.inputs} inputs, ${campaign.outcomes.size} different outcomes, ` +
        `${campaign.findings.length} findings\n`,
    )
  }
  return { seed, minutes, inputs, outcomes, findings }
}
