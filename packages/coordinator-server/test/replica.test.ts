import { decodeEntry, encodeEntry } from '@tenure/shared-log'
import { position } from '@tenure/state-machine'
import { Random } from '@tenure/testing'
import t, { type Test } from 'tap'
import { Cluster, type ClusterOptions, type Node, ttlMs } from './cluster.js'

/** A cluster that has a leader and some records. */
async function running(options?: ClusterOptions): Promise<{ cluster: Cluster; leader: Node }> {
  const cluster = new Cluster(options)
  for (const node of cluster.nodes) await node.start()
  const leader = await cluster.untilLed()
  for (let index = 0; index < 5; index++) void leader.submit(`task ${index}`)
  await cluster.clock.advance(100)
  return { cluster, leader }
}

function standbyOf(cluster: Cluster): Node {
  return cluster.nodes.find((node) => node !== cluster.leader)!
}

/** Fails unless everything acknowledged is in the shared log, and all nodes agree. */
async function checkAll(t: Test, cluster: Cluster, what = ''): Promise<void> {
  t.same(cluster.problems, [], what)
  const stored = new Map<number, string>()
  const { first, last } = cluster.engine.range
  let chain = first === 1 ? 0 : undefined
  for (let seq = first; seq <= last && last > 0; seq++) {
    const entry = decodeEntry(cluster.engine.at(seq)!, seq)
    if (chain !== undefined && entry.chain !== chain) t.fail(`entry ${seq} breaks the chain`)
    chain = entry.crc
    for (const [index, record] of entry.records.entries()) {
      const text = /(task [\w.]+)/.exec(Buffer.from(record).toString('latin1'))?.[1]
      stored.set(entry.firstLsn + index, text ?? '')
    }
  }
  for (const [lsn, text] of cluster.acknowledged) {
    if (stored.has(lsn) && stored.get(lsn) !== text)
      t.equal(stored.get(lsn), text, `${what} ${lsn}`)
    if (!stored.has(lsn)) t.fail(`${what}: LSN ${lsn} was acknowledged and is not stored`)
  }
  const states = cluster.nodes.filter((node) => node.isUp).map((node) => node.stateHash)
  const furthest = Math.max(...cluster.nodes.map((node) => position(node.state!).lastLsn))
  const isEven = cluster.nodes.every(
    (node) => !node.isUp || position(node.state!).lastLsn === furthest,
  )
  if (isEven) t.equal(new Set(states).size, 1, `${what}: all states are equal`)
}

t.test('one of two coordinators leads, and the other one follows it', async (t) => {
  const { cluster, leader } = await running()
  const standby = standbyOf(cluster)
  t.equal(cluster.acknowledged.size, 5)
  t.equal(standby.replica?.isLeading, false)
  t.equal(standby.stateHash, leader.stateHash)
  t.equal(standby.replica?.activeAddress, `${leader.name}:7411`)
  t.equal(standby.copy?.nextLsn, 6)
  await checkAll(t, cluster)
  await cluster.stop()
})

t.test('after the leader is killed, the standby leads within the time to live', async (t) => {
  const { cluster, leader } = await running()
  const standby = standbyOf(cluster)
  leader.kill()
  await cluster.clock.advance(ttlMs - 200)
  t.equal(standby.replica?.isLeading, false)
  await cluster.clock.advance(300)
  t.equal(standby.replica?.isLeading, true)
  void standby.submit('task x')
  await cluster.clock.advance(10)
  t.equal(cluster.acknowledged.get(6), 'task x')
  await leader.start()
  await cluster.clock.advance(100)
  t.equal(leader.stateHash, standby.stateHash, 'the old leader follows')
  await checkAll(t, cluster)
  await cluster.stop()
})

t.test('the standby leads immediately after a resignation', async (t) => {
  const { cluster, leader } = await running()
  const standby = standbyOf(cluster)
  await leader.replica?.resign()
  leader.kill()
  await cluster.clock.advance(50)
  t.equal(standby.replica?.isLeading, true)
  await checkAll(t, cluster)
  await cluster.stop()
})

t.test('a resignation comes after everything else', async (t) => {
  const { cluster, leader } = await running()
  for (let index = 0; index < 5; index++) void leader.submit(`task l${index}`)
  await leader.replica?.resign()
  await cluster.clock.advance(10)
  t.equal(cluster.acknowledged.size, 10)
  const { last } = cluster.engine.range
  t.ok([last, last - 1].some((seq) => decodeEntry(cluster.engine.at(seq)!, seq).kind === 'resign'))
  await checkAll(t, cluster)
  await cluster.stop()
})

t.test('a leader that was paused is fenced, and acknowledges nothing', async (t) => {
  const lost = new Set<string>()
  const { cluster, leader } = await running({
    fateOf: ({ user }) => (lost.has(user) ? 'lose' : 'pass'),
  })
  const standby = standbyOf(cluster)
  // It hears nothing of the engine, as if it were stopped.
  lost.add(leader.name)
  void leader.submit('task lost')
  void leader.ask()
  await cluster.clock.advance(ttlMs + 1000)
  t.equal(standby.replica?.isLeading, true)
  t.equal(leader.isStalled, true, 'after the time to live it steps down')
  void standby.submit('task successor')
  await cluster.clock.advance(10)
  lost.clear()
  await cluster.clock.advance(1000)
  t.match(leader.failure, { code: 'LEADERSHIP_LOST' })
  t.notOk([...cluster.acknowledged.values()].includes('task lost'))
  await checkAll(t, cluster)
  await cluster.stop()
})

t.test('a silent engine deposes no leader', async (t) => {
  const { cluster, leader } = await running()
  cluster.engine.isLeaderless = true
  await cluster.clock.advance(ttlMs * 3)
  t.equal(standbyOf(cluster).replica?.isLeading, false)
  t.equal(leader.isStalled, true)
  cluster.engine.isLeaderless = false
  await cluster.clock.advance(100)
  t.equal(leader.replica?.isLeading, true)
  t.equal(leader.isStalled, false)
  void leader.submit('task after')
  await cluster.clock.advance(100)
  t.equal(cluster.acknowledged.get(6), 'task after')
  await checkAll(t, cluster)
  await cluster.stop()
})

t.test('an engine that has lost entries stops the coordinators', async (t) => {
  for (const loss of ['wipe', 'forget'] as const) {
    for (const when of ['running', 'stopped'] as const) {
      const { cluster } = await running()
      await cluster.clock.advance(200)
      if (when === 'stopped') for (const node of cluster.nodes) node.kill()
      if (loss === 'wipe') cluster.engine.wipe()
      else cluster.engine.forget(1 + cluster.engine.range.last - 2)
      if (when === 'stopped') for (const node of cluster.nodes) await node.start()
      await cluster.clock.advance(ttlMs * 3)
      for (const node of cluster.nodes) {
        t.match(node.failure, { code: 'LOG_LOST' }, `${loss}, ${when}: ${node.name}`)
      }
      await cluster.stop()
    }
  }
})

t.test('a copy that is ahead of the shared log keeps others from taking over', async (t) => {
  const { cluster, leader } = await running()
  const standby = standbyOf(cluster)
  leader.kill()
  await cluster.clock.advance(100)
  // The engine loses what only the leader's copy still has.
  standby.kill()
  cluster.engine.forget(1)
  await leader.start()
  await cluster.clock.advance(10)
  t.match(leader.failure, { code: 'LOG_LOST' })
  await cluster.stop()
})

t.test('entries of strangers, and damaged ones, stop every node by name', async (t) => {
  const { cluster } = await running()
  const { last } = cluster.engine.range
  const bytes = Buffer.from(cluster.engine.at(last)!)
  const entry = decodeEntry(bytes, last)
  const firstLsn = entry.firstLsn + entry.records.length
  const next = { ...entry, records: [], firstLsn, chain: entry.crc, number: 99 }
  const cases: [string, RegExp, Uint8Array][] = [
    ['LOG_FOREIGN', /is no entry/, Buffer.from('hello')],
    ['LOG_FOREIGN', /belongs to log/, encodeEntry({ ...next, logId: 'ff'.repeat(16) }).bytes],
    ['LOG_FOREIGN', /era 2/, encodeEntry({ ...next, era: 2 }).bytes],
    ['LOG_DAMAGED', /does not continue/, encodeEntry({ ...next, chain: 1 }).bytes],
    ['LOG_DAMAGED', /is of epoch 2/, encodeEntry({ ...next, epoch: next.epoch + 1 }).bytes],
    ['LOG_DAMAGED', /is of epoch 1/, encodeEntry({ ...next, kind: 'epoch' }).bytes],
    ['LOG_DAMAGED', /begins at LSN 99/, encodeEntry({ ...next, firstLsn: 99 }).bytes],
    ['LOG_DAMAGED', /bytes instead of/, bytes.subarray(0, 100)],
  ]
  for (const [code, message, foreign] of cases) {
    const { cluster: other } = await running()
    other.engine.write(foreign)
    await other.clock.advance(100)
    t.match(standbyOf(other).failure, { code, message })
    await other.clock.advance(ttlMs)
    t.match(other.nodes.find((node) => node.failure !== undefined)?.failure, {})
    t.notOk(other.leader, 'the leader was overtaken')
    await other.stop()
  }
  await cluster.stop()
})

t.test('a full shared log refuses new tasks first, and goes on later', async (t) => {
  const { cluster, leader } = await running({ bytesMax: 20_000 })
  const claim = (urgency: 'low' | 'normal' | 'high') => {
    try {
      leader.replica!.claim(100, urgency).release()
      return 'taken'
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  const seen = new Set<string>()
  for (let index = 0; index < 300 && claim('high') === 'taken'; index++) {
    void leader.submit(`task ${'x'.repeat(100)}${index}`)
    await cluster.clock.advance(5)
    seen.add([claim('low'), claim('normal'), claim('high')].join(' '))
  }
  const full = 'WAL_NO_SPACE'
  t.same(
    [...seen],
    [
      'taken taken taken',
      `${full} taken taken`,
      `${full} ${full} taken`,
      `${full} ${full} ${full}`,
    ],
  )
  await cluster.clock.advance(ttlMs)
  t.equal(leader.replica?.isLeading, true, 'the reserve keeps the leadership')
  await leader.replica?.confirm()
  cluster.engine.truncate(cluster.engine.range.last - 1)
  await cluster.clock.advance(ttlMs)
  t.equal(claim('low'), 'taken')
  await cluster.stop()
})

t.test('time goes on from the newest entry, whatever the wall clocks show', async (t) => {
  for (const skewMs of [-3_600_000, 3_600_000]) {
    const { cluster, leader } = await running()
    const standby = standbyOf(cluster)
    const before = decodeEntry(cluster.engine.at(cluster.engine.range.last)!, 1).clockMs
    standby.skewMs = skewMs
    leader.kill()
    await cluster.clock.advance(ttlMs + 100)
    t.equal(standby.replica?.isLeading, true)
    const after = decodeEntry(cluster.engine.at(cluster.engine.range.last)!, 1).clockMs
    t.ok(after >= before && after <= before + ttlMs + 1000, `${skewMs} ms: ${after - before}`)
    await cluster.stop()
  }
})

t.test(
  'a new shared log begins at the wall clock, and no restart moves its time back',
  async (t) => {
    const { cluster } = await running()
    const clockAt = (seq: number) => decodeEntry(cluster.engine.at(seq)!, seq).clockMs
    t.ok(Math.abs(clockAt(1) - cluster.clock.now()) < 1000, `${clockAt(1)}`)
    const { last } = cluster.engine.range
    for (const node of cluster.nodes) {
      node.kill()
      node.skewMs = -3_600_000
    }
    for (const node of cluster.nodes) await node.start()
    await cluster.untilLed()
    t.ok(clockAt(last + 1) >= clockAt(last), 'although nobody has read another entry')
    await cluster.stop()
  },
)

t.test('a leader that is behind catches up more slowly than a worker allows for', async (t) => {
  const { cluster, leader } = await running()
  const standby = standbyOf(cluster)
  standby.skewMs = 3_600_000
  leader.kill()
  await cluster.clock.advance(ttlMs + 500)
  const lastClock = () => {
    const { last } = cluster.engine.range
    return decodeEntry(cluster.engine.at(last)!, last).clockMs
  }
  const fromMs = lastClock()
  await cluster.clock.advance(60_000)
  const gainedMs = lastClock() - fromMs - 60_000
  // A worker's clockDrift is 1 % by default, and the clocks of two machines differ as well.
  t.ok(gainedMs < 300, `${gainedMs} ms in a minute, beside the time between two entries`)
  await cluster.stop()
})

t.test('a copy starts as nothing else, and follows after any power loss', async (t) => {
  const { cluster } = await running()
  for (let round = 0; round < 20; round++) {
    const standby = standbyOf(cluster)
    standby.losePower()
    void cluster.leader?.submit(`task r${round}`)
    await cluster.clock.advance(50)
    await standby.start()
    await cluster.clock.advance(200)
    t.equal(standby.stateHash, cluster.leader?.stateHash, `round ${round}`)
  }
  await checkAll(t, cluster)
  await cluster.stop()
})

// ---- random lives

/** Plays a cluster with faults of every kind, and lets it come to rest. */
async function play(seed: number): Promise<Cluster> {
  const random = new Random(seed)
  let isCalm = false
  const cluster: Cluster = new Cluster({
    seed,
    nodes: 2 + random.integer(2),
    fateOf: async ({ way, call }) => {
      if (isCalm) return 'pass'
      if (random.chance(0.3)) {
        await new Promise<void>((resolve) => cluster.clock.setTimer(random.integer(30), resolve))
      }
      if (!random.chance(0.03)) return 'pass'
      const mayBeLate = way === 'request' && call === 'append'
      return mayBeLate && random.chance(0.5) ? { lateMs: random.integer(4000) } : 'lose'
    },
  })
  for (const node of cluster.nodes) {
    node.skewMs = random.integer(20_000) - 10_000
    await node.start()
  }
  let tasks = 0
  for (let step = 0; step < 120; step++) {
    const node = random.pick(cluster.nodes)
    const actions: (() => void | Promise<void>)[] = [
      ...Array.from({ length: 10 }, () => () => {
        for (const one of cluster.nodes) {
          for (let count = random.integer(4); count > 0; count--) void one.submit(`task ${++tasks}`)
        }
      }),
      ...Array.from({ length: 6 }, () => () => {
        for (const one of cluster.nodes) void one.ask()
      }),
      () => node.kill(),
      () => node.losePower(),
      async () => {
        // A coordinator that stops; the engine may be too slow for its resignation.
        const resigned = node.replica?.resign().catch(() => {})
        await cluster.clock.advance(random.integer(200))
        void resigned
        node.kill()
      },
      () => {
        cluster.engine.isLeaderless = random.chance(0.5)
      },
      () => {
        node.skewMs += random.integer(40_000) - 20_000
      },
      ...cluster.nodes.map((one) => async () => {
        if (!one.isUp) await one.start()
      }),
    ]
    await random.pick(actions)()
    await cluster.clock.advance(random.pick([1, 5, 20, 100, 500, 2500]))
  }
  isCalm = true
  cluster.engine.isLeaderless = false
  for (const node of cluster.nodes) if (!node.isUp) await node.start()
  const leader = await cluster.untilLed()
  void leader.submit(`task last`)
  await cluster.clock.advance(5000)
  return cluster
}

t.test('no record that was acknowledged is lost, in any of many random lives', async (t) => {
  let acknowledged = 0
  let epochs = 0
  for (let seed = 1; seed <= 40; seed++) {
    const cluster = await play(seed).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error })
    })
    await checkAll(t, cluster, `seed ${seed}`)
    acknowledged += cluster.acknowledged.size
    epochs += cluster.leader?.replica?.epoch ?? 0
    await cluster.stop()
  }
  t.comment(`${acknowledged} records, ${epochs} epochs`)
  t.ok(acknowledged > 500)
  t.ok(epochs > 80)
})
