import { appendFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import type { HandlerTask } from '@tenure/worker-runtime'
import type { ExecutionLine } from '../evidence/worker-lines.js'
import { readWork } from '../work/work.js'

const path = process.env.CHAOS_EXECUTIONS ?? ''
const worker = process.env.CHAOS_WORKER ?? ''

/**
 * What the workers run. It says that it began before it does anything, in a file of its own and by
 * one write that is appended: an execution that nobody else knows of is known there.
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
