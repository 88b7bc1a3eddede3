import { join } from 'node:path'
import { connect, type Tenure } from '@tenure/client'
import { programOf } from '@tenure/harness'
import { openReadOnly } from '@tenure/wal'
import { isListening } from '../servers/ask.js'
import type { Place } from '../servers/server.js'
import { writeLives, writeWaiting } from '../servers/written-logs.js'
import type { RecoveryCase } from './case.js'

const recordsPerTask = 10

export function tenureCases(tasks: number): RecoveryCase[] {
  const common = {
    system: 'tenure',
    program: programOf(import.meta.resolve('@tenure/coordinator/package.json')),
    args: ({ directory, port }) => [
      ...['--data-dir', join(directory, 'data'), '--port', `${port}`, '--http-port', 'off'],
      // No checkpoint is made during the measurement.
      ...['--replay-max', '1h'],
    ],
    answers,
  } satisfies Partial<RecoveryCase>
  const tailRecords = tasks / 1000
  return [
    {
      ...common,
      name: 'checkpoint and a small tail',
      target: 3,
      countTasks: (place) => countTasks(place, 1),
      write: (directory) => writeWaiting(join(directory, 'data'), tasks, tailRecords),
    },
    {
      ...common,
      name: 'whole lives, no checkpoint',
      target: 16,
      countTasks: (place) => countTasks(place, 0),
      write: (directory) => writeLives(join(directory, 'data'), tasks * recordsPerTask),
    },
  ]
}

/** Connects directly, because a client backs off for longer between two attempts to connect. */
async function answers(port: number): Promise<boolean> {
  if (!(await isListening(port))) return false
  await withClient(port, (tenure) => tenure.ping())
  return true
}

async function countTasks({ directory, port }: Place, checkpoints: number): Promise<number> {
  const found = (await openReadOnly(join(directory, 'data'))).checkpoints.length
  if (found !== checkpoints) throw new Error(`${found} checkpoints found, expected ${checkpoints}`)
  const { tasks } = await withClient(port, (tenure) => tenure.stats())
  return tasks.waiting + tasks.leased
}

async function withClient<T>(port: number, act: (tenure: Tenure) => Promise<T>): Promise<T> {
  const tenure = await connect({ endpoints: [`127.0.0.1:${port}`] })
  try {
    return await act(tenure)
  } finally {
    await tenure.close()
  }
}
