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

/** The result of a run. */
export interface Summary {
  readonly seed: number
  readonly minutes: number
  /** Number of inputs, by target. */
  readonly inputs: Readonly<Record<string, number>>
  /** Number of distinct outcomes, by target. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly findings: readonly FoundInFile[]
}

/** Fuzzes all targets, one after the other, and writes findings to files. */
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
      // At least one input is run, even in a very short time.
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
      `${name.padEnd(14)} ${campaign.inputs} inputs, ${campaign.outcomes.size} distinct outcomes, ` +
        `${campaign.findings.length} findings\n`,
    )
  }
  return { seed, minutes, inputs, outcomes, findings }
}
