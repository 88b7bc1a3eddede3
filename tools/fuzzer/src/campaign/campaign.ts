import type { Violation } from '@tenure/harness'
import { Random } from '@tenure/testing'
import type { Input } from '../input/input.js'
import { pickOf } from '../input/mutation.js'
import type { Target } from '../input/target.js'
import { toViolation } from '../input/violation.js'
import { shrink } from './shrink.js'

/** Inputs that are worth changing further. */
const keptMax = 256

/** One more of a kind tells nothing; what goes wrong in so many ways is to be repaired first. */
const findingsMax = 10

/** Signals and the words of others are heard between inputs only. */
const breathEvery = 500
const breathe = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Something that does not hold, and the shortest input that was found to show it. */
export interface Finding {
  readonly target: string
  readonly check: string
  readonly detail: string
  readonly input: Input
}

export interface Campaign {
  readonly inputs: number
  /** How often what came of an input. */
  readonly outcomes: ReadonlyMap<string, number>
  readonly findings: readonly Finding[]
}

export interface CampaignOptions {
  readonly seed: number
  /** Asked before each input with how many there were. */
  readonly isOver: (inputs: number) => boolean
  readonly onFinding?: (finding: Finding) => void
  /** Before each input that is tried, also to make a finding shorter. */
  readonly onTry?: (input: Input) => void
  /** How much is tried to make a finding shorter. However slow a target is, somebody waits for that. */
  readonly shrinksMax?: number
}

/** Tries one input after the other: the same seed tries the same ones. */
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
    if (inputs % breathEvery === 0) await breathe()
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

/** Tries an input once more; gives what does not hold. */
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

/** One in four is sound or nearly so; the others were, before they were changed a few times. */
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
  const detail = violation?.message ?? 'it does not show a second time'
  return { target: target.name, check, detail, input: smallest }
}
