import { closeSync, openSync, writeSync } from 'node:fs'
import type { Tenure } from '@tenure/client'

export interface FinalAnswers {
  readonly lastLsn: number
  readonly metrics: Metrics
}

/** Maximum number of tries, because each may be disturbed by a new record. */
const triesMax = 50

/**
 * Queries the idle coordinator: its tasks, which are written to a file, its counters, and its last
 * LSN. It may still forget tasks, so the queries repeat until the log has not grown between the first
 * and the last of them.
 */
export async function readFinalAnswers(
  tenure: Tenure,
  httpPort: number,
  livePath: string,
  signal: AbortSignal,
): Promise<FinalAnswers> {
  for (let tries = 0; tries < triesMax; tries++) {
    const { lastLsn } = await tenure.stats({ signal })
    await writeLive(tenure, livePath, signal)
    const metrics = await fetchMetrics(httpPort)
    const after = await tenure.stats({ signal })
    if (after.lastLsn === lastLsn) return { lastLsn, metrics }
  }
  throw new Error('no task is alive, but the log still grows')
}

async function writeLive(tenure: Tenure, path: string, signal: AbortSignal): Promise<void> {
  const file = openSync(path, 'w')
  for await (const { taskId, state } of tenure.list({ signal })) {
    writeSync(file, `${JSON.stringify({ taskId, state })}\n`)
  }
  closeSync(file)
}

/** The samples without labels on the metrics page. */
export type Metrics = Readonly<Record<string, number>>

async function fetchMetrics(httpPort: number): Promise<Metrics> {
  const page = await (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text()
  const samples = page.matchAll(/^(\w+) (\S+)$/gm)
  return Object.fromEntries([...samples].map(([, name, value]) => [name, Number(value)]))
}
