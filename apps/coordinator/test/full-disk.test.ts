// Runs alone: its tests share one small disk.
import { join } from 'node:path'
import type { Link } from '@tenure/client'
import type { Answer, Leased } from '@tenure/protocol'
import { SmallDisk } from '@tenure/testing'
import t from 'tap'
import { CoordinatorProcess, makeDirectory } from './coordinator-process.js'
import { connectTo, expect, leaseFrom } from './links.js'

const kib = 1024
const mib = 2 ** 20
const payload = Buffer.alloc(8 * kib, 'x')

/** The reason for a rejection, or `undefined`. */
async function refusal(asked: Promise<Answer>): Promise<string | undefined> {
  const answer = await asked
  return answer.kind === 'rejected' ? answer.reason : undefined
}

const disk = SmallDisk.mount(makeDirectory(t), 48)
t.teardown(() => disk?.unmount())
const cannot =
  'no small file system can be mounted by this user; the simulated disk is tested in any case'

t.test(
  'a disk that fills up: submissions are rejected first, then everything, and it recovers by itself',
  { skip: disk === undefined && cannot },
  async (t) => {
    if (disk === undefined) return
    const dataDir = join(disk.path, 'data')
    const args = ['--segment-bytes', '1MiB', '--history-bytes-max', '0', '--disk-low-bytes', '8MiB']
    // No timeout applies, however long the disk stays full.
    args.push('--lease-duration', '10m')
    const { coordinator, port } = await CoordinatorProcess.start(t, dataDir, args)
    const link = await connectTo(t, port, 'w-1')
    const submit = () => link.request({ kind: 'submit', payload })
    const first = await expect(link, 'submitted', { kind: 'submit', payload, queue: 'kept' })
    const held = await leaseFrom(link, 'kept')
    await disk.fill(6 * mib)
    await coordinator.line('disk space is low')

    const accepted: number[] = []
    for (;;) {
      const answer = await submit()
      if (answer.kind !== 'submitted') break
      accepted.push(answer.taskId)
    }
    t.ok(accepted.length > 10, 'submissions were accepted while there was space')
    await coordinator.line('disk full: rejecting requests that need disk space')
    t.equal(await refusal(submit()), 'NO_SPACE', 'then they are rejected')
    t.match(await link.request({ kind: 'stats' }), { stats: { diskFull: true } })

    const { taskId, leaseId } = held
    t.equal(taskId, first.taskId)
    t.match(
      await link.request({ kind: 'heartbeat', taskId, leaseId }),
      { kind: 'extended' },
      'a heartbeat is accepted',
    )
    const reported = await finishOne(link)
    t.equal(reported, undefined, 'and so is a lease and its report, from reserved space')

    let refused: string | undefined
    while (refused === undefined) refused = await finishOne(link)
    t.equal(refused, 'NO_SPACE', 'until the reserved space is used up')
    while ((await refusal(link.request({ kind: 'heartbeat', taskId, leaseId }))) === undefined);
    t.match(await link.request({ kind: 'ping' }), { kind: 'pong' }, 'the process is alive')
    t.match(await link.request({ kind: 'get', taskId }), { kind: 'task' }, 'and answers queries')

    disk.empty()
    await coordinator.line('disk has space again')
    t.equal(await refusal(submit()), undefined, 'with free space it recovers by itself')
    t.match(await link.request({ kind: 'stats' }), { stats: { diskFull: false } })
    const completed = { kind: 'complete', taskId, leaseId } as const
    t.match(await link.request(completed), { kind: 'committed' })

    coordinator.kill('SIGKILL')
    await coordinator.exited
    const again = await CoordinatorProcess.start(t, dataDir, args)
    const other = await connectTo(t, again.port, 'w-1')
    const found = await Promise.all(
      [first.taskId, ...accepted].map((taskId) => other.request({ kind: 'get', taskId })),
    )
    const lost = found.filter(({ kind }) => kind !== 'task')
    t.same(lost, [], 'nothing that was acknowledged is lost')
  },
)

t.test(
  'a coordinator that starts on a full disk removes history that no restart needs',
  { skip: disk === undefined && cannot },
  async (t) => {
    if (disk === undefined) return
    const dataDir = join(disk.path, 'history')
    const args = ['--segment-bytes', '1MiB', '--disk-low-bytes', '0']
    const first = await CoordinatorProcess.start(t, dataDir, args)
    const link = await connectTo(t, first.port, 'p')
    for (let checkpoint = 1; checkpoint <= 2; checkpoint++) {
      for (let n = 0; n < 300; n++) await expect(link, 'submitted', { kind: 'submit', payload })
      await expect(link, 'checkpointed', { kind: 'checkpoint' })
    }
    first.coordinator.kill('SIGTERM')
    await first.coordinator.exited
    await disk.fill()
    const { coordinator, port } = await CoordinatorProcess.start(t, dataDir, args)
    await coordinator.line('disk full: removed history that no restart needs')
    await coordinator.line('disk has space again')
    const other = await connectTo(t, port, 'p')
    await expect(other, 'submitted', { kind: 'submit', payload })
    disk.empty()
  },
)

/** Leases and completes a task; returns the reason if either is rejected. */
async function finishOne(link: Link): Promise<string | undefined> {
  const leased = await link.request({ kind: 'lease', queues: ['default'], waitMs: 0 })
  if (leased.kind === 'rejected') return leased.reason
  const { taskId, leaseId } = leased as Leased
  return refusal(link.request({ kind: 'complete', taskId, leaseId, result: payload }))
}
