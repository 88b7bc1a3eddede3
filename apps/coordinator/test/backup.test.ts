import { join } from 'node:path'
import type { Link } from '@tenure/client'
import type { Leased } from '@tenure/protocol'
import { backupLog, restoreLog } from '@tenure/wal'
import t, { type Test } from 'tap'
import { CoordinatorProcess, makeDirectory } from './coordinator-process.js'
import { connectOnce, connectTo, expect, leaseFrom, untilLost } from './links.js'
import { Transcript } from './transcript.js'

const names = ['w1', 'w2', 'w3', 'w4']
const lanesOfEach = 6

/** Producers, and workers that complete every other task, until the coordinator is killed. */
async function startLoad(t: Test, port: number, transcript: Transcript) {
  const lanes: Promise<void>[] = []
  for (const name of names) {
    const link = await connectOnce(t, port, name)
    for (let lane = 0; lane < lanesOfEach; lane++) {
      const work = lane % 2 === 0 ? produce : complete
      lanes.push(untilLost(() => work(link, `${name}-${lane}`, name, transcript)))
    }
  }
  return lanes
}

async function produce(link: Link, lane: string, name: string, transcript: Transcript) {
  for (let count = 0; ; count++) {
    const requestId = `${lane}-${count}`
    await transcript.ask(link, name, { kind: 'submit', payload: Buffer.from('work'), requestId })
  }
}

async function complete(link: Link, _lane: string, name: string, transcript: Transcript) {
  for (let count = 0; ; count++) {
    const lease = { kind: 'lease', queues: ['default'], waitMs: 20_000 } as const
    const answer = await transcript.ask(link, name, lease)
    if (answer.kind !== 'leased' || count % 2 === 0) continue
    await transcript.ask(link, name, reportOf(answer))
  }
}

function reportOf({ taskId, leaseId }: Leased) {
  return { kind: 'complete', taskId, leaseId, reportId: `of ${leaseId}` } as const
}

t.test(
  'a restored backup has everything answered before it, and no id is used twice',
  async (t) => {
    const directory = makeDirectory(t)
    const [dataDir, copy, restored] = ['data', 'copy', 'restored'].map((it) => join(directory, it))
    const first = await CoordinatorProcess.start(t, dataDir!)
    const transcript = new Transcript()
    const lanes = await startLoad(t, first.port, transcript)
    await transcript.until(() => transcript.size >= 1000)

    const submitted = transcript.answeredBy('submitted')
    const committed = transcript.answeredBy('committed')
    const { lastLsn } = await backupLog(dataDir!, copy!)
    const hasMore = () => transcript.answeredBy('leased').some(isLater)
    const isLater = ({ answer }: { answer: Leased }) => answer.leaseId > lastLsn
    await transcript.until(() => hasMore())
    await first.coordinator.end()
    await Promise.all(lanes)

    const { nextLsn } = await restoreLog(copy!, restored!)
    const second = await CoordinatorProcess.start(t, restored!)
    t.equal(second.started.epoch, 3)
    const links = new Map<string, Link>()
    for (const name of names) links.set(name, await connectTo(t, second.port, name))
    for (const { by, request, answer } of submitted) {
      const { taskId, known } = await expect(links.get(by)!, 'submitted', request)
      if (taskId !== answer.taskId || !known) t.fail(`task ${answer.taskId} is lost`)
    }
    for (const { by, request } of committed) {
      const { state } = await expect(links.get(by)!, 'committed', request)
      if (state !== 'COMPLETED') t.fail(`${JSON.stringify(request)} is lost: ${state}`)
    }
    t.ok(submitted.length > 100 && committed.length > 50, 'there was something to lose')

    const link = links.get('w1')!
    const leases = transcript.answeredBy('leased')
    const later = leases.find(isLater)!.answer
    t.match(await link.request({ ...reportOf(later), kind: 'heartbeat' }), {
      kind: 'rejected',
      reason: 'UNKNOWN_LEASE',
    })
    const { taskId } = await expect(link, 'submitted', { kind: 'submit', payload: Buffer.from('') })
    const { leaseId } = await leaseFrom(link, 'default')
    t.ok(taskId >= nextLsn && leaseId > nextLsn, 'new ids follow the gap')
    t.ok(
      leases.every(({ answer }) => answer.leaseId < nextLsn),
      'no lease id was issued before',
    )
  },
)
