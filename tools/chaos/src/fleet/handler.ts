import { appendFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import type { HandlerTask } from '@tenure/worker-runtime'
import type { ExecutionLine } from '../evidence/worker-lines.js'
import { readWork } from '../work/work.js'

const path = process.env.CHAOS_EXECUTIONS ?? ''
const worker = process.env.CHAOS_WORKER ?? ''

/**
 * The workers' handler. Before anything else it appends a line to a file of its own with one write,
 * so that even an execution that no other witness saw is recorded.
 */
export default async function handle(task: HandlerTask): Promise<Uint8Array> {
  const { taskId, attempt, leaseId, payload, signal } = task
  const note = (line: ExecutionLine) => appendFileSync(path, `${JSON.stringify(line)}\n`)
  note({ what: 'started', taskId, attempt, leaseId, worker })
  const { number, kind, waitMs } = readWork(payload)
  await setTimeout(waitMs, undefined, { signal })
  if (kind === 'failing' || (kind === 'failing once' && attempt === 1)) throw new Error('as told')
  if (kind === 'ending its host once' && attempt === 1) process.exit(1)
  const result = `${number} by ${worker} under ${leaseId}`
  note({ what: 'returned', taskId, leaseId, result })
  return Buffer.from(result)
}
