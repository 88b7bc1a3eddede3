import { relative } from 'node:path'
import { type Finding, fuzz } from './campaign.js'
import { findingsDirectory, saveFinding } from './finding-files.js'
import { openTarget } from './targets.js'
import { Watchdog } from './watchdog.js'

export interface FuzzOptions {
  /** For each target. */
  readonly minutes: number
  readonly targets: readonly string[]
  readonly seed: number
}

export interface Output {
  write(text: string): unknown
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

interface FoundInFile {
  readonly target: string
  readonly check: string
  readonly detail: string
  /** What tries it again. */
  readonly command: string
}

/** Tries all targets, one after the other, and keeps what it finds in files. */
export async function runFuzz(
  { minutes, targets, seed }: FuzzOptions,
  output: Output,
  signal: AbortSignal,
): Promise<Summary> {
  const inputs: Record<string, number> = {}
  const outcomes: Record<string, number> = {}
  const findings: FoundInFile[] = []
  for (const name of targets) {
    await using watchdog = new Watchdog(`pnpm fuzz --target ${name} --seed ${seed}`)
    const target = openTarget(name)
    const endMs = performance.now() + minutes * 60_000
    const campaign = await fuzz(target, {
      seed,
      isOver: () => signal.aborted || performance.now() >= endMs,
      onTry: () => watchdog.beat(),
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

function keepFinding(finding: Finding): FoundInFile {
  const { target, check, detail } = finding
  const path = relative(process.cwd(), saveFinding(finding, findingsDirectory))
  return { target, check, detail, command: `pnpm fuzz --replay ${path}` }
}

function describeFinding({ target, check, detail, command }: FoundInFile): string {
  return `FOUND in ${target}: it does not hold that ${check}\n  ${detail}\n  ${command}\n`
}
