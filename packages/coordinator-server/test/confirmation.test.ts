import { readFileSync } from 'node:fs'
import { type Answer, type AnswerKind, type Reason, reasons } from '@tenure/protocol'
import t from 'tap'
import { needsConfirmation } from '../src/core/confirmation.js'

/** Whether an answer of this kind waits if it has no record of its own. */
const byKind: Record<Exclude<AnswerKind, 'rejected'>, boolean> = {
  submitted: true,
  leased: true,
  empty: true,
  withdrawn: false,
  extended: true,
  committed: true,
  cancelled: true,
  killed: true,
  task: true,
  tasks: true,
  stats: true,
  workers: true,
  why: true,
  history: true,
  checkpointed: true,
  pong: false,
}

const byReason: Record<Reason, boolean> = {
  MALFORMED: false,
  FORBIDDEN: false,
  UNKNOWN_TASK: true,
  UNKNOWN_LEASE: true,
  WRONG_WORKER: true,
  DUPLICATE_REPORT: true,
  REPORTED: true,
  EXPIRED: true,
  SUPERSEDED: true,
  TASK_TERMINAL: true,
  CONFLICT: true,
  TOO_LARGE: false,
  OVERLOADED: false,
  NO_SPACE: false,
  STOPPING: false,
  NOT_ACTIVE: false,
  INTERNAL: false,
  UNAUTHORIZED: false,
  UNSUPPORTED_VERSION: false,
  TOO_MANY: false,
  PROTOCOL: false,
}

t.test('every answer that depends on the state waits for a confirmation', async (t) => {
  for (const [kind, waits] of Object.entries(byKind)) {
    t.equal(needsConfirmation({ kind } as Answer), waits, kind)
  }
  for (const reason of Object.keys(reasons) as Reason[]) {
    const answer = { kind: 'rejected', id: 1, reason, message: '' } as const
    t.equal(needsConfirmation(answer), byReason[reason], reason)
  }
})

t.test('the semantics name every reason that waits, and every one that does not', async (t) => {
  const page = readFileSync(new URL('../../../../docs/semantics.md', import.meta.url), 'utf8')
  const section = page.slice(page.indexOf('## 14.'), page.indexOf('## 15.'))
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  for (const [reason, waits] of Object.entries(byReason)) {
    const row = rows.find((line) => line.includes(`\`${reason}\``))
    const isAtHandshake = ['UNAUTHORIZED', 'UNSUPPORTED_VERSION', 'PROTOCOL'].includes(reason)
    if (isAtHandshake) t.equal(row, undefined, `${reason} ends the connection`)
    else t.match(row, waits ? /\| a confirmation \|$/ : /\| nothing:/, reason)
  }
})
