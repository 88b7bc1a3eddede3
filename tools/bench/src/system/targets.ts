import type { Footprint } from './figure.js'
import type { Summary } from './summary.js'

/** A target, and the measured value. */
export interface Verdict {
  readonly name: string
  readonly value: number
  readonly unit: '' | 'x' | ' bytes'
  readonly target: number
  readonly aim: number
  readonly holds: boolean
}

type Found = readonly (Summary | Footprint)[]

const alone = [1, 1] as const
const many = [64, 1] as const
const deep = [16, 64] as const

/** Judges the targets that the run has measured. */
export function judge(found: Found): Verdict[] {
  const speed = (system: string, work: string, shape: readonly [number, number], live = 0) =>
    find(found, system, work, shape, live)?.opsPerSecond
  const tenure = (work: string, shape: readonly [number, number], live = 0) =>
    speed('tenure', work, shape, live)
  const halfLoad = found.find(
    (one): one is Summary => one.system === 'tenure' && 'load' in one && one.load === 0.5,
  )
  const sync = find(found, 'bare disk', 'sync', alone, 0)
  return [
    atLeast('submit 1 x 1 to beanstalkd -f0', 0.9, 1.2, [
      tenure('submit', alone),
      speed('beanstalkd -f0', 'submit', alone),
    ]),
    atLeast('submit 64 x 1 to beanstalkd -F', 0.75, 1, [
      tenure('submit', many),
      speed('beanstalkd -F', 'submit', many),
    ]),
    atLeast('submit 64 x 1 to beanstalkd -f0', 6, 6, [
      tenure('submit', many),
      speed('beanstalkd -f0', 'submit', many),
    ]),
    atLeast('submit 64 x 1 to a bare echo', 0.75, 0.75, [
      tenure('submit', many),
      speed('echo', 'submit', many),
    ]),
    atLeast('submit 16 x 64 to beanstalkd -F', 3, 5, [
      tenure('submit', deep),
      speed('beanstalkd -F', 'submit', deep),
    ]),
    atLeast('life 16 x 64 to BullMQ always', 10, 15, [
      tenure('life', deep),
      speed('bullmq always', 'life', deep),
    ]),
    atLeast('life 64 x 1 to BullMQ always', 10, 15, [
      tenure('life', many),
      speed('bullmq always', 'life', many),
    ]),
    atLeast('life by handlers 16 x 64 to BullMQ always', 10, 15, [
      tenure('life by handlers', deep),
      speed('bullmq always', 'life', deep),
    ]),
    ...[many, deep].flatMap((shape) =>
      ['submit', 'lease+complete'].map((work) =>
        atMost(
          `cost of ${work} ${shape.join(' x ')} beside 1,000,000 tasks to 1,000`,
          1.2,
          1,
          'x',
          [tenure(work, shape, 1000), tenure(work, shape, 1_000_000)],
        ),
      ),
    ),
    atMost('memory of a waiting task', 400, 295, ' bytes', [memoryOf(found), 1]),
    atMost('p99 at half load to the p99 of a bare sync', 3, 3, 'x', [halfLoad?.p99Ms, sync?.p99Ms]),
  ].filter(({ value }) => !Number.isNaN(value))
}

type Ratio = readonly [above: number | undefined, below: number | undefined]

function atLeast(name: string, target: number, aim: number, ratio: Ratio): Verdict {
  const value = quotientOf(ratio)
  return { name, value, unit: 'x', target, aim, holds: value >= target }
}

function atMost(
  name: string,
  target: number,
  aim: number,
  unit: Verdict['unit'],
  ratio: Ratio,
): Verdict {
  const value = quotientOf(ratio)
  return { name, value, unit, target, aim, holds: value <= target }
}

function quotientOf([above = Number.NaN, below = Number.NaN]: Ratio): number {
  return above / below
}

function find(
  found: Found,
  system: string,
  work: string,
  [connections, inFlight]: readonly [number, number],
  liveTasks: number,
): Summary | undefined {
  return found.find(
    (one): one is Summary =>
      'connections' in one &&
      one.load === undefined &&
      one.system === system &&
      one.work === work &&
      one.connections === connections &&
      one.inFlight === inFlight &&
      one.liveTasks === liveTasks,
  )
}

function memoryOf(found: Found): number | undefined {
  const footprints = found.filter(
    (one): one is Footprint => one.work === 'hold' && one.system === 'tenure',
  )
  return footprints.at(-1)?.memoryBytesPerTask
}
