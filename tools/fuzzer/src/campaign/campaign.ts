import type { Violation } from '@tenure/harness'
import { Random } from '@tenure/testing'
import type { Input } from '../input/input.js'
import { pickOf } from '../input/mutation.js'
import type { Target } from '../input/target.js'
import { toViolation } from '../input/violation.js'
import { shrink } from './shrink.js'

/** Inputs that are worth mutating further. */
const keptMax = 256

/** Further findings of the same check add nothing; with this many different ones, the run ends. */
const findingsMax = 10

/** Signals and messages are handled only between inputs, after this many of them. */
const yieldEvery = 500
const breathe = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A violated check, and the shortest known input that violates it. */
export interface Finding {
  readonly target: string
  readonly check: string
  readonly detail: string
  readonly input: Input
}

export interface Campaign {
  readonly inputs: number
  /** Number of inputs by outcome. */
  readonly outcomes: ReadonlyMap<string, number>
  readonly findings: readonly Finding[]
}

export interface CampaignOptions {
  readonly seed: number
  /** Called before each input with the number of inputs so far. */
  readonly isOver: (inputs: number) => boolean
  readonly onFinding?: (finding: Finding) => void
  /** Called before each run of an input, also while a finding is shrunk. */
  readonly onTry?: (input: Input) => void
  /**
   * Maximum number of runs to shrink a finding, so that a slow target does not delay the report.
   */
  readonly shrinksMax?: number
}

/** Runs one input after the other; the same seed gives the same inputs. */
export async function fuzz(tried: Target, options: CampaignOptions): Promise<Campaign> {
  const { seed, isOver, onFinding, onTry, shrinksMax = 3000 } = options
  const run: Target['run'] = (input) => {
    onTry?.(input)
    return tried.run(input)
  }
  const target = { ...tried, run }
  const random = new Random(seed)
  const outcomes = new Map<string, number>()
  const findings: Finding[] = []
  const kept: Input[] = []
  let inputs = 0
  for (; !isOver(inputs) && findings.length < findingsMax; inputs++) {
    if (inputs % yieldEvery === 0) await breathe()
    const input = nextInput(target, random.fork(), kept)
    const outcome = await outcomeOf(target, input)
    if (typeof outcome !== 'string') {
      if (findings.some(({ check }) => check === outcome.check)) continue
      const finding = await shrunk(target, input, outcome, shrinksMax)
      findings.push(finding)
      onFinding?.(finding)
      continue
    }
    if (!outcomes.has(outcome)) keep(kept, input, random)
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  return { inputs, outcomes, findings }
}

/** Runs an input once; returns the violated check. */
export async function tryOnce(target: Target, input: Input): Promise<Violation | undefined> {
  const outcome = await outcomeOf(target, input)
  return typeof outcome === 'string' ? undefined : outcome
}

async function outcomeOf(target: Target, input: Input): Promise<string | Violation> {
  try {
    return await target.run(input)
  } catch (error) {
    return toViolation(error)
  }
}

/** One input in four is fresh, valid or nearly so; the others are mutations of kept inputs. */
function nextInput(target: Target, random: Random, kept: readonly Input[]): Input {
  const taken = random.chance(0.5) ? pickOf(random, kept) : undefined
  let input = taken ?? target.generate(random)
  if (taken === undefined && random.chance(0.5)) return input
  for (let left = 1 + random.integer(random.pick([1, 3, 8])); left > 0; left--) {
    const other = (random.chance(0.5) ? pickOf(random, kept) : undefined) ?? input
    input = target.mutate(random, input, other)
  }
  return input
}

function keep(kept: Input[], input: Input, random: Random): void {
  if (kept.length < keptMax) kept.push(input)
  else kept[random.integer(keptMax)] = input
}

async function shrunk(
  target: Target,
  input: Input,
  { check }: Violation,
  triesMax: number,
): Promise<Finding> {
  const fails = async (smaller: Input) => (await tryOnce(target, smaller))?.check === check
  const smallest = await shrink(input, fails, triesMax)
  const violation = await tryOnce(target, smallest)
  const detail = violation?.message ?? 'it did not occur again'
  return { target: target.name, check, detail, input: smallest }
}
