import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Answer } from '@tenure/protocol'
import t, { type Test } from 'tap'
import { CoordinatorProcess } from './coordinator-process.js'
import { PeerClient } from './peer-client.js'

/** Every failure of 002 §6, with a coordinator in a process of its own and real sockets. */
const knobs = { leaseDurationMs: 1500, heartbeatIntervalMs: 500 }

async function start(t: Test) {
  const dataDir = await mkdtemp(join(tmpdir(), 'tenure-failures-'))
  let coordinator = await CoordinatorProcess.start(dataDir, knobs)
  t.teardown(async () => {
    await coordinator.kill()
    await rm(dataDir, { recursive: true, force: true })
  })
  return {
    open: (name: string) => PeerClient.open(coordinator.port, { name }),
    async crash() {
      await coordinator.kill()
      coordinator = await CoordinatorProcess.start(dataDir, knobs)
    },
  }
}

const submit = { kind: 'submit', payload: Buffer.from('work') } as const
/** Waits for as long as it takes. */
const poll = { kind: 'lease', queues: ['default'], waitMs: 60_000 } as const

function leased(answer: Answer): { taskId: number; leaseId: number; attempt: number } {
  if (answer.kind !== 'leased') throw new Error(JSON.stringify(answer))
  return answer
}

t.test('§6.1 a worker crashes: its lease expires, and the task is executed again', async (t) => {
  const world = await start(t)
  const [crashing, other] = [await world.open('w1'), await world.open('w2')]
  await other.ask(submit)
  const first = leased(await crashing.ask(poll))
  crashing.socket.destroy()
  const second = leased(await other.ask(poll))
  t.match(second, { taskId: first.taskId, attempt: 2 })
  t.ok(second.leaseId > first.leaseId, 'a lease id is a fencing token')
  t.match(await other.ask({ kind: 'complete', taskId: second.taskId, leaseId: second.leaseId }), {
    kind: 'committed',
  })
  const found = await other.ask({ kind: 'get', taskId: first.taskId })
  t.match(found, { task: { attempts: [{ outcome: 'EXPIRED' }, { outcome: 'COMPLETED' }] } })
})

t.test(
  '§6.2 the coordinator crashes: replay restores what was answered, and a valid lease stays so',
  async (t) => {
    const world = await start(t)
    const before = await world.open('w1')
    await before.ask({ ...submit, requestId: 'r' })
    await before.ask({ ...submit, executionWindowMs: 60_000 })
    const { taskId, leaseId } = leased(await before.ask(poll))
    await world.crash()
    const after = await world.open('w1')
    t.match(await after.ask({ ...submit, requestId: 'r' }), { taskId: 1, known: true })
    // Whether it is still in time is for the machine to say; that it was granted is for the log.
    const answer = await after.ask({ kind: 'complete', taskId, leaseId })
    t.ok(answer.kind === 'committed' || answer.kind === 'cancelled', answer.kind)
  },
)

t.test(
  '§6.3 a partition: who has lost the lease meanwhile is CANCELLED, whatever they did',
  async (t) => {
    const world = await start(t)
    const [cutOff, other] = [await world.open('w1'), await world.open('w2')]
    await other.ask(submit)
    const first = leased(await cutOff.ask(poll))
    cutOff.socket.pause()
    const second = leased(await other.ask(poll))
    cutOff.socket.resume()
    const late = await cutOff.ask({
      kind: 'complete',
      taskId: first.taskId,
      leaseId: first.leaseId,
    })
    t.match(late, { kind: 'cancelled', reason: 'SUPERSEDED', supersededBy: second.leaseId })
    const done = await other.ask({
      kind: 'complete',
      taskId: second.taskId,
      leaseId: second.leaseId,
    })
    t.ok(done.kind === 'committed' || done.kind === 'cancelled', done.kind)
  },
)

t.test('§6.4 the answer to a report is lost: the same report has the same answer', async (t) => {
  const world = await start(t)
  const first = await world.open('w1')
  await first.ask(submit)
  const { taskId, leaseId } = leased(await first.ask(poll))
  const report = { kind: 'complete', taskId, leaseId, reportId: 'p' } as const
  const answered = first.ask(report)
  t.match(await answered, { kind: 'committed', state: 'COMPLETED' })
  first.socket.destroy()
  const again = await world.open('w1')
  t.match(await again.ask(report), { kind: 'committed', state: 'COMPLETED' })
  t.match(await again.ask({ ...report, reportId: 'q' }), {
    kind: 'rejected',
    reason: 'DUPLICATE_REPORT',
  })
})

t.test(
  '§6.4 the answer to a lease request is lost: the task is offered again after one lease',
  async (t) => {
    const world = await start(t)
    const [gone, other] = [await world.open('w1'), await world.open('w2')]
    await other.ask(submit)
    void gone.ask({ ...poll, waitMs: 0 })
    gone.socket.end()
    await gone.closed
    const { attempt } = leased(await other.ask(poll))
    t.ok(
      attempt === 1 || attempt === 2,
      'it was granted before the connection ended, or it was not',
    )
  },
)
