import { defineVerb, exitCodes } from '@tenure/app-kit'
import type { Attempt, Task } from '@tenure/client'
import { showBytes } from '../bytes.js'
import { outputSettings, toJsonLine } from '../output.js'
import { showTable } from '../table.js'
import { taskIdSettings } from '../task-id.js'
import { showSpan, showTime } from '../times.js'
import { clientSettings, withClient } from '../with-client.js'

export const get = defineVerb({
  summary: 'Shows a task, with its attempts and its result.',
  examples: [{ line: 'tenure get 17', help: 'Task 17.' }],
  settings: { ...taskIdSettings, ...outputSettings, ...clientSettings },
  prepare(configuration) {
    const { taskId, json } = configuration.values
    return withClient(configuration, async (tenure, { stdout }) => {
      const task = await tenure.get(taskId)
      stdout.write(json ? toJsonLine(task) : showTask(task))
      return exitCodes.done
    })
  },
})

function showTask(task: Task): string {
  const { eligibleAt, reason, payload, result } = task
  const facts: [string, string | undefined][] = [
    ['task', String(task.taskId)],
    ['state', `${task.state} since ${showTime(task.stateSince)}`],
    ['queue', task.queue],
    ['created', showTime(task.createdAt)],
    ['eligible', eligibleAt === undefined ? undefined : showTime(eligibleAt)],
    ['reason', reason],
    ['payload', payload && showBytes(payload)],
    ['result', result && showBytes(result)],
  ]
  const known = facts.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  const attempts = task.attempts.map(toRow)
  return showTable(known) + (attempts.length > 0 ? `\n${showTable([heads, ...attempts])}` : '')
}

const heads = ['attempt', 'lease', 'worker', 'granted', 'took', 'outcome']

function toRow({ attempt, leaseId, workerId, grantedAt, endedAt, outcome, cancelled }: Attempt) {
  return [
    String(attempt),
    String(leaseId),
    workerId,
    showTime(grantedAt),
    endedAt === undefined ? '' : showSpan(endedAt - grantedAt),
    cancelled ? `${outcome}, report CANCELLED` : outcome,
  ]
}
