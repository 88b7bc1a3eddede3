import { closeSync, openSync, writeSync } from 'node:fs'
import type { Tenure } from '@tenure/client'

export interface LastLook {
  readonly lastLsn: number
  readonly metrics: Metrics
}

/** So often something may come between. */
const triesMax = 50

/**
 * What the coordinator says when nothing happens any more: its tasks, one by one, into a file; its
 * counters, and where its log ends. It still forgets for a moment, so it is asked until nothing has
 * been written between the first answer and the last.
 */
export async function lookAtLast(
  tenure: Tenure,
  httpPort: number,
  livePath: string,
  signal: AbortSignal,
): Promise<LastLook> {
  for (let tries = 0; tries < triesMax; tries++) {
    const { lastLsn } = await tenure.stats({ signal })
    await writeLive(tenure, livePath, signal)
    const metrics = await fetchMetrics(httpPort)
    const after = await tenure.stats({ signal })
    if (after.lastLsn === lastLsn) return { lastLsn, metrics }
  }
  throw new Error('nothing is alive any more, and yet the log grows')
}

async function writeLive(tenure: Tenure, path: string, signal: AbortSignal): Promise<void> {
  const file = openSync(path, 'w')
  for await (const { taskId, state } of tenure.list({ signal })) {
    writeSync(file, `${JSON.stringify({ taskId, state })}\n`)
  }
  closeSync(file)
}

/** The samples without labels of a page of metrics. */
export type Metrics = Readonly<Record<string, number>>

async function fetchMetrics(httpPort: number): Promise<Metrics> {
  const page = await (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text()
  const samples = page.matchAll(/^(\w+) (\S+)$/gm)
  return Object.fromEntries([...samples].map(([, name, value]) => [name, Number(value)]))
}
