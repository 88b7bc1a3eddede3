import { median } from '@tenure/harness'
import type { Contender } from '../system/contender.js'
import { echoContenders } from '../system/contenders/echo.js'
import { tenureContenders } from '../system/contenders/tenure.js'
import { drive } from '../system/drive.js'
import type { Shape } from '../system/plan.js'
import { RunningContender } from '../system/running-contender.js'

/** Two measurements, one right after the other, and the first divided by the second. */
export interface Ratio {
  readonly name: string
  measure(root: string): Promise<number>
}

const [echo] = echoContenders as [Contender]
const [tenure] = tenureContenders as [Contender]
const pace = { warmUpSeconds: 0.5, seconds: 0.7 }
const many: Shape = { connections: 64, inFlight: 1 }
const deep: Shape = { connections: 16, inFlight: 64 }
const waiting = 200_000

export const ratios: readonly Ratio[] = [
  {
    name: 'submit 64 x 1 / bare echo',
    measure: async (root) => (await submit(tenure, many, root)) / (await submit(echo, many, root)),
  },
  {
    name: 'submit 16 x 64 / bare echo',
    measure: async (root) => (await submit(tenure, deep, root)) / (await submit(echo, deep, root)),
  },
  {
    name: 'life 16 x 64 / bare echo',
    measure: async (root) => (await live(0, root)) / (await submit(echo, deep, root)),
  },
  {
    name: `life with ${waiting} waiting tasks / with few`,
    measure: async (root) => (await live(waiting, root)) / (await live(0, root)),
  },
]

async function submit(contender: Contender, shape: Shape, root: string): Promise<number> {
  await using running = await RunningContender.start(contender, root)
  const clients = await running.open(shape.connections)
  const { opsPerSecond } = await drive(clients, shape.inFlight, pace, (client) => client.submit())
  return opsPerSecond
}

/** Submits one task for each processed task, so that the number of waiting tasks stays the same. */
async function live(waitingTasks: number, root: string): Promise<number> {
  await using running = await RunningContender.start(tenure, root)
  await tenure.fill(running.port, waitingTasks + 2000)
  const clients = await running.open(deep.connections)
  const { opsPerSecond } = await drive(clients, deep.inFlight, pace, async (client) => {
    await client.submit()
    await client.process?.()
  })
  return opsPerSecond
}

/** Whether the values of many rounds stay above the least allowed one. */
export function judgeLoss(values: readonly number[], least: number): 'holds' | 'unclear' | 'lost' {
  if (median(values) >= least) return 'holds'
  const enough = values.filter((value) => value >= least)
  return enough.length >= values.length / 4 ? 'unclear' : 'lost'
}
