import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { History, type LogSource, openHistory } from '@tenure/history'
import { decodeAnswer, encodeAnswer } from '@tenure/protocol'
import { frameHeadBytes } from '@tenure/protocol/internal'
import { countTasks, getTask, hashState, position } from '@tenure/state-machine'
import { type LogReader, openReadOnly } from '@tenure/wal'
import t, { type Test } from 'tap'
import { answerCheckpoint } from '../src/checkpoints/answer-checkpoint.js'
import { type Checkpointed, type CoordinatorOptions, startCoordinator } from '../src/index.js'
import { PeerClient } from './peer-client.js'

const submit = { kind: 'submit', payload: Buffer.from('work') } as const
const lease = { kind: 'lease', queues: ['default'], waitMs: 0 } as const
const small = { replayMsMax: 10, historyMs: 0, historyBytesMax: 0 }

/** A coordinator that makes checkpoints as often as possible, and a client. */
async function start(t: Test, options: CoordinatorOptions = {}) {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'tenure-'))
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }))
  const made: Checkpointed[] = []
  let wake = () => {}
  const server = await startCoordinator({
    dataDir,
    port: 0,
    httpPort: 0,
    checkpoints: small,
    log: { sync: 'none' },
    observer: {
      checkpointed: (checkpoint) => {
        made.push(checkpoint)
        wake()
      },
      checkpointFailed: (error) => t.fail(String(error)),
    },
    ...options,
  })
  t.teardown(() => server.stop())
  const client = await PeerClient.open(server.port)
  /** Runs tasks until this many checkpoints have been made. */
  const liveUntil = async (checkpoints: number) => {
    while (made.length < checkpoints) {
      const next = new Promise<void>((resolve) => {
        wake = resolve
      })
      await Promise.all(Array.from({ length: livesBehind }, () => liveOnce(client)))
      await next
    }
  }
  return { server, client, dataDir, made, liveUntil }
}

/** More than half of the replay budget, at three records per task. */
const livesBehind = 700

async function liveOnce(client: PeerClient): Promise<void> {
  await client.ask(submit)
  const leased = await client.ask(lease)
  if (leased.kind !== 'leased') throw new Error(`no lease but ${leased.kind}`)
  const { taskId, leaseId } = leased
  await client.ask({ kind: 'complete', taskId, leaseId })
}

t.test('a working coordinator keeps the replay of a restart within its limit', async (t) => {
  const { server, client, dataDir, made, liveUntil } = await start(t)
  const first = await client.ask({ ...submit, queue: 'never asked for' })
  await liveUntil(3)
  const [, second, third] = made
  t.ok(second!.lsn < third!.lsn)
  t.ok(third!.removed.segments > 0, 'and the log does not grow')
  await client.close()
  await server.stop()
  const reader = await openReadOnly(dataDir)
  // Another checkpoint may have been made without being reported.
  const heardOf = reader.checkpoints.filter((lsn) => lsn <= made.at(-1)!.lsn)
  t.same(heardOf, [made.at(-1)!.lsn, made.at(-2)!.lsn], 'the newest two are kept')
  t.ok(reader.firstLsn > 1)
  const history = await openHistory(dataDir)
  const { taskId } = first as { taskId: number }
  t.equal(getTask(await history.stateAt(), taskId)?.state, 'WAITING', 'nothing is forgotten')
  const replayed: number[] = []
  const again = await startCoordinator({
    dataDir,
    port: 0,
    httpPort: false,
    observer: { replaying: ({ applied }) => replayed.push(applied) },
  })
  t.equal(position(await history.stateAt()).lastLsn, reader.checkpointLsn + (replayed.at(-1) ?? 0))
  await again.stop()
})

t.test('replay from each checkpoint and from the start gives the same state', async (t) => {
  const checkpoints = { ...small, historyMs: 3_600_000, historyBytesMax: 2 ** 40 }
  const { server, client, dataDir, liveUntil } = await start(t, { checkpoints })
  await liveUntil(2)
  await client.close()
  await server.stop()
  const log = await openReadOnly(dataDir)
  t.equal(log.firstLsn, 1, 'history is kept')
  const hashes = await Promise.all(
    [[], [log.checkpoints[1]!], log.checkpoints].map(async (checkpoints) =>
      hashState(await new History(withCheckpoints(log, checkpoints)).stateAt()),
    ),
  )
  t.equal(new Set(hashes).size, 1)
})

t.test('the metrics show the replay time of a restart and the size of the log', async (t) => {
  const { server, liveUntil } = await start(t)
  await liveUntil(1)
  const url = `http://127.0.0.1:${server.httpPort}/metrics`
  const metrics = await (await fetch(url)).text()
  t.match(metrics, /^tenure_checkpoints_total\{outcome="made"\} [1-9]/m)
  t.match(metrics, /^tenure_checkpoint_seconds \d+(\.\d+)?$/m)
  t.match(metrics, /^tenure_checkpoint_lsn [1-9]\d*$/m)
  t.match(metrics, /^tenure_replay_estimate_seconds [\d.]+$/m)
  t.match(metrics, /^tenure_log_bytes [1-9]\d+$/m)
})

t.test('the first failed checkpoint increases its counter, which starts at 0', async (t) => {
  const { server } = await start(t)
  const url = `http://127.0.0.1:${server.httpPort}/metrics`
  const metrics = await (await fetch(url)).text()
  t.match(metrics, /^tenure_checkpoints_total\{outcome="failed"\} 0$/m)
  t.match(metrics, /^tenure_checkpoints_total\{outcome="made"\} 0$/m)
})

t.test('stopping does not wait for a checkpoint', async (t) => {
  const { server, client, liveUntil } = await start(t)
  await liveUntil(1)
  await client.close()
  await server.stop()
  t.equal(await server.ended, undefined)
})

/** The log as if it had only these checkpoints. */
function withCheckpoints(log: LogReader, checkpoints: readonly number[]): LogSource {
  const { firstLsn, gaps, openings } = log
  return {
    firstLsn,
    gaps,
    openings,
    checkpoints,
    replay: (options) => log.replay(options),
    readCheckpoint: (lsn) => log.readCheckpoint(lsn),
  }
}

t.test('a checkpoint request makes a checkpoint, and a second one finds nothing new', async (t) => {
  const never = { ...small, replayMsMax: 3_600_000 }
  const { client } = await start(t, { checkpoints: never })
  await liveOnce(client)
  const { taskId } = (await client.ask(submit)) as { taskId: number }
  const made = await client.ask({ kind: 'checkpoint' })
  t.match(made, { kind: 'checkpointed', checkpoint: { lsn: taskId, tasks: 2, replayed: taskId } })
  const again = await client.ask({ kind: 'checkpoint' })
  t.match(again, { kind: 'checkpointed', checkpoint: { lsn: taskId, replayed: 0 } })
})

t.test('a restored log can be checkpointed before it has new records', async (t) => {
  const first = await start(t, { checkpoints: { ...small, replayMsMax: 3_600_000 } })
  await liveOnce(first.client)
  await first.client.close()
  await first.server.stop()
  const { dataDir } = first
  const restored = await start(t, { dataDir, log: { sync: 'none', restored: true } })
  const made = await restored.client.ask({ kind: 'checkpoint' })
  t.match(made, { kind: 'checkpointed', checkpoint: { tasks: 1 } })
  await liveOnce(restored.client)
  await restored.client.close()
  await restored.server.stop()
  const history = await openHistory(dataDir)
  t.match(countTasks(await history.stateAt()), { ended: 2 })
})

t.test('only an admin may request a checkpoint', async (t) => {
  const { server } = await start(t)
  for (const role of ['produce', 'work'] as const) {
    const other = await PeerClient.open(server.port, { role })
    t.match(await other.ask({ kind: 'checkpoint' }), { kind: 'rejected', reason: 'FORBIDDEN' })
  }
})

t.test('the duration of a checkpoint is answered in whole milliseconds', async (t) => {
  const removed = { segments: 0, bytes: 0, checkpoints: 0 }
  const made = { lsn: 9, good: [9], replayed: 9, replayMs: 1.5, writeMs: 0.0625, removed }
  const answer = await answerCheckpoint({ kind: 'checkpoint', id: 7 }, async () => made)
  const sent = decodeAnswer(encodeAnswer(answer).subarray(frameHeadBytes))
  t.match(sent, { kind: 'checkpointed', id: 7, checkpoint: { replayMs: 2, writeMs: 0 } })
})

t.test('a checkpoint that fails is rejected with the reason', async (t) => {
  const failing = (code: string) => () =>
    Promise.reject(Object.assign(new Error('no luck'), { code }))
  const request = { kind: 'checkpoint', id: 7 } as const
  t.match(await answerCheckpoint(request, failing('WAL_NO_SPACE')), { reason: 'NO_SPACE', id: 7 })
  t.match(await answerCheckpoint(request, failing('EIO')), {
    reason: 'INTERNAL',
    message: 'the checkpoint failed: no luck',
  })
  t.match(await answerCheckpoint(request, undefined), {
    reason: 'INTERNAL',
    message: /cannot make checkpoints/,
  })
})
