import t from 'tap'
import { drawScenario } from '../src/scenario/draw.js'
import type { Scenario } from '../src/scenario/scenario.js'
import { shrink } from '../src/scenario/shrink.js'

/** A scenario with this many operations and faults. */
function scenarioOf(operations: number, faults: number): Scenario {
  const listOf = <T>(count: number, make: (atMs: number) => T) =>
    Array.from({ length: count }, (_, index) => make(index))
  return {
    ...drawScenario(1),
    operations: listOf(operations, (atMs) => ({ atMs, kind: 'stats', client: 0 })),
    faults: listOf(faults, (atMs) => ({ atMs, kind: 'drop pages' })),
  }
}

t.test('only the needed operations and faults are left', async (t) => {
  const needs = async ({ operations, faults }: Scenario) =>
    [3, 17].every((atMs) => operations.some((one) => one.atMs === atMs)) &&
    faults.some((one) => one.atMs === 9)
  const { operations, faults, workers } = await shrink(scenarioOf(20, 10), needs)
  t.same(
    operations.map(({ atMs }) => atMs),
    [3, 17],
  )
  t.same(
    faults.map(({ atMs }) => atMs),
    [9],
  )
  t.equal(workers.length, 1)
})

t.test('irrelevant knobs become calm', async (t) => {
  const scenario = scenarioOf(1, 1)
  const wild = { ...scenario, knobs: { ...scenario.knobs, diskMsMax: 40, networkMsMax: 100 } }
  const { knobs } = await shrink(wild, async ({ knobs }) => knobs.diskMsMax === 40)
  t.match(knobs, { diskMsMax: 40, networkMsMax: 0, clockRate: 1 })
})

t.test('shrinking stops after the maximum number of runs', async (t) => {
  let runs = 0
  await shrink(scenarioOf(100, 100), async () => runs++ < 0, 50)
  t.equal(runs, 50)
})
