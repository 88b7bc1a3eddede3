import { createState, encodeState, hashState } from '@tenure/state-machine'
import t from 'tap'
import { EngineCheckpoints, seedIfNew } from '../src/replica/engine-checkpoints.js'
import { Cluster, identity, type Node } from './cluster.js'

/** A cluster whose shared log is more than half full, with the checkpoints of each node. */
async function halfFull(): Promise<{
  readonly cluster: Cluster
  readonly leader: Node
  readonly standby: Node
  readonly failures: unknown[]
  keeperOf(node: Node): EngineCheckpoints
}> {
  const cluster = new Cluster({ bytesMax: 100_000 })
  for (const node of cluster.nodes) await node.start()
  const leader = await cluster.untilLed()
  const standby = cluster.nodes.find((node) => node !== leader)!
  await submit(cluster, leader, 20)
  const failures: unknown[] = []
  const keeperOf = ({ replica, copy, disk }: Node) =>
    new EngineCheckpoints({
      shared: cluster.engine.connect('checkpoints'),
      replica: replica!,
      copy: copy!,
      dataDir: '/data',
      disk,
      nowMs: () => cluster.clock.monotonicMs(),
      onFailure: (error) => failures.push(error),
      onTrouble: (error) => failures.push(error),
    })
  return { cluster, leader, standby, failures, keeperOf }
}

async function submit({ clock }: Cluster, leader: Node, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    void leader.submit(`task ${index} ${'x'.repeat(3000)}`)
    await clock.advance(5)
  }
  // The leader has asked for the extent of the log since then.
  await clock.advance(1000)
}

/** Makes a checkpoint of the node's own directory. */
async function makeCheckpoint({ copy, state }: Node): Promise<number> {
  await copy!.roll()
  await copy!.writeCheckpoint(copy!.sealedLsn, encodeState(state!))
  return copy!.checkpointLsn
}

t.test('a log that is less than half full needs no checkpoint', async (t) => {
  const { cluster, standby, keeperOf } = await halfFull()
  cluster.engine.bytesMax = 2 ** 30
  await cluster.clock.advance(1000)
  await makeCheckpoint(standby)
  await keeperOf(standby).tick()
  t.equal(cluster.engine.checkpoints.size, 0)
  await cluster.stop()
})

t.test('the standby puts a checkpoint there, and the leader waits a minute for it', async (t) => {
  const { cluster, leader, standby, keeperOf } = await halfFull()
  const [ofLeader, ofStandby] = [keeperOf(leader), keeperOf(standby)]
  await makeCheckpoint(leader)
  await ofLeader.tick()
  await cluster.clock.advance(59_000)
  await ofLeader.tick()
  t.equal(cluster.engine.checkpoints.size, 0)
  await cluster.clock.advance(2000)
  await ofLeader.tick()
  t.same([...cluster.engine.checkpoints.keys()], [20], 'no standby did')
  await submit(cluster, leader, 3)
  t.equal(await makeCheckpoint(standby), 23)
  await ofStandby.tick()
  t.same([...cluster.engine.checkpoints.keys()], [20, 23])
  await cluster.stop()
})

t.test(
  'the leader truncates through the older of two checkpoints, and a new node begins with one',
  async (t) => {
    const { cluster, leader, standby, failures, keeperOf } = await halfFull()
    const [ofLeader, ofStandby] = [keeperOf(leader), keeperOf(standby)]
    await makeCheckpoint(standby)
    await ofStandby.tick()
    await ofLeader.tick()
    t.equal(cluster.engine.range.first, 1, 'one checkpoint removes nothing')
    await submit(cluster, leader, 10)
    await makeCheckpoint(standby)
    await ofStandby.tick()
    await ofLeader.tick()
    t.same(failures, [])
    const { first, last } = cluster.engine.range
    t.ok(first > 10 && first < last, `from ${first} to ${last}`)

    const shared = cluster.engine.connect('new')
    const { disk } = cluster.nodes[1]!
    const fresh = cluster.addNode()
    await seedIfNew('/data', shared, identity, fresh.disk)
    await fresh.start()
    await cluster.clock.advance(100)
    t.equal(fresh.stateHash, leader.stateHash)
    t.equal(fresh.copy?.checkpointLsn, 30)
    await seedIfNew('/data', shared, identity, disk)
    t.same(cluster.problems, [])
    await cluster.stop()
  },
)

t.test('a checkpoint of another state removes nothing, and stops the standby', async (t) => {
  const { cluster, leader, standby, failures, keeperOf } = await halfFull()
  await makeCheckpoint(standby)
  await keeperOf(standby).tick()
  await submit(cluster, leader, 10)
  await makeCheckpoint(standby)
  await keeperOf(standby).tick()
  const other = createState()
  for (const [lsn, [facts]] of cluster.engine.checkpoints) {
    const otherFacts = {
      ...JSON.parse(Buffer.from(facts!).toString()),
      stateHash: hashState(other),
    }
    const chunks = [Buffer.from(JSON.stringify(otherFacts)), ...encodeState(other)]
    cluster.engine.checkpoints.set(lsn, chunks)
  }
  await keeperOf(leader).tick()
  t.equal(cluster.engine.range.first, 1)
  t.same(failures, [])
  await keeperOf(standby).tick()
  t.match(failures, [{ code: 'STATE_DIVERGED', message: /differs from the checkpoint/ }])
  await cluster.stop()
})

t.test(
  'a checkpoint older than the own history proves nothing, and stops no coordinator',
  async (t) => {
    const { cluster, leader, standby, failures, keeperOf } = await halfFull()
    const [ofLeader, ofStandby] = [keeperOf(leader), keeperOf(standby)]
    await makeCheckpoint(standby)
    await ofStandby.tick()
    await submit(cluster, leader, 10)
    await makeCheckpoint(standby)
    await ofStandby.tick()
    cluster.engine.bytesMax = 150_000
    await cluster.clock.advance(1000)
    for (let made = 0; made < 2; made++) {
      await submit(cluster, leader, 1)
      await makeCheckpoint(leader)
    }
    await leader.copy!.truncate()
    t.ok(leader.copy!.firstLsn > 30)
    await ofLeader.tick()
    t.same(failures, [])
    t.equal(cluster.engine.range.first, 1, 'nothing is removed')
    await cluster.stop()
  },
)

t.test('a checkpoint that was damaged removes nothing, and stops no coordinator', async (t) => {
  const { cluster, leader, standby, failures, keeperOf } = await halfFull()
  await makeCheckpoint(standby)
  await keeperOf(standby).tick()
  await submit(cluster, leader, 10)
  await makeCheckpoint(standby)
  await keeperOf(standby).tick()
  for (const [lsn, [facts, ...rest]] of cluster.engine.checkpoints) {
    const text = Buffer.from(facts!)
      .toString()
      .replace(/"stateHash":"./, '"stateHash":"_')
    cluster.engine.checkpoints.set(lsn, [Buffer.from(text), ...rest])
  }
  await keeperOf(leader).tick()
  await keeperOf(standby).tick()
  t.equal(cluster.engine.range.first, 1)
  t.same(failures, [])
  await cluster.stop()
})

t.test('a new node without a checkpoint to begin with says what to do', async (t) => {
  const { cluster } = await halfFull()
  cluster.engine.truncate(3)
  const fresh = cluster.addNode()
  await t.rejects(seedIfNew('/data', cluster.engine.connect('new'), identity, fresh.disk), {
    code: 'LOG_TRUNCATED',
    message: /has no checkpoint/,
  })
  await cluster.stop()
})
