import t from 'tap'
import { openReadOnly } from '../src/index.js'
import {
  appendOneByOne,
  appendTogether,
  directory,
  range,
  rejection,
  replayedLsns,
  World,
} from './world.js'

const readerOf = (world: World) => openReadOnly(directory, { disk: world.disk, clock: world.clock })

t.test('a reader takes no lock, changes nothing, and ends at the last whole batch', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 100)
  const before = world.files().map((name) => [name, world.disk.readFile(world.path(name))])
  const calls = world.disk.callCount
  const reader = await readerOf(world)
  t.same(await replayedLsns(t, reader), range(1, 100))
  t.same(await replayedLsns(t, reader, 42), range(42, 100))
  const kinds = new Set(world.disk.calls.slice(calls).map((call) => call.kind))
  t.same([...kinds].sort(), ['close', 'list', 'open', 'read', 'size'])
  t.same(
    world.files().map((name) => [name, world.disk.readFile(world.path(name))]),
    before,
  )
  await log.close()
})

t.test(
  'a reader that follows sees every record, over rolls and restarts of the writer',
  async (t) => {
    const world = new World()
    let log = await world.open()
    await appendOneByOne(log, 10)
    const reader = await readerOf(world)
    const stop = new AbortController()
    const seen: number[] = []
    const following = (async () => {
      for await (const run of reader.replay({ follow: true, signal: stop.signal })) {
        for (const index of run.records.keys()) seen.push(run.firstLsn + index)
      }
    })()
    for (let round = 0; round < 6; round++) {
      await appendTogether(log, 5)
      await appendOneByOne(log, 25)
      await world.clock.advance(50)
      t.same(seen, range(1, log.durableLsn), `round ${round}`)
      if (round % 2 === 1) {
        await log.close()
        log = await world.open()
      }
    }
    stop.abort()
    await following
    t.equal(seen.length, 190)
    await log.close()
  },
)

t.test('a reader that follows stops at once when it is told to', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 1)
  const reader = await readerOf(world)
  const runs = reader.replay({ follow: true, signal: AbortSignal.abort() })
  t.same(await runs.next(), { done: true, value: undefined })
  const stop = new AbortController()
  const waiting = reader.replay({ fromLsn: 2, follow: true, signal: stop.signal }).next()
  await world.clock.advance(100)
  stop.abort()
  t.same(await waiting, { done: true, value: undefined })
  await log.close()
})

t.test('a reader refuses damage as the writer does', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 100)
  await log.close()
  const [first = '', second = ''] = world.segments()
  const flipped = world.copy()
  flipped.disk.flipBit(flipped.path(first), 700 * 8)
  t.equal(
    await rejection(readerOf(flipped).then((reader) => replayedLsns(t, reader))),
    'WAL_CORRUPT',
  )
  const poorer = world.copy()
  poorer.disk.removeFile(poorer.path(second))
  t.equal(await rejection(readerOf(poorer)), 'WAL_CORRUPT')
})

t.test('where there is no log, a reader says so', async (t) => {
  const world = new World()
  t.equal(await rejection(readerOf(world)), 'WAL_NOT_A_LOG')
  t.equal(await rejection(world.verify()), 'WAL_NOT_A_LOG')
})

t.test('a reader behind a truncation is told what is gone', async (t) => {
  const world = new World()
  const log = await world.open()
  for (let round = 0; round < 3; round++) {
    await appendOneByOne(log, 10)
    await log.roll()
    await log.writeCheckpoint(log.sealedLsn, [])
  }
  await log.truncate()
  const reader = await readerOf(world)
  t.equal(reader.firstLsn, 21)
  t.equal(await rejection(replayedLsns(t, reader, 20)), 'WAL_FORGOTTEN')
  t.same(await replayedLsns(t, reader, 21), range(21, 30))
  await log.close()
})

t.test('verify reports a whole log in numbers', async (t) => {
  const world = new World()
  const log = await world.open()
  await appendOneByOne(log, 100)
  await log.close()
  const report = await world.verify()
  t.match(report, {
    logId: 'a5'.repeat(16),
    epoch: 1,
    segments: world.segments().length,
    records: 100,
    firstLsn: 1,
    lastLsn: 100,
    gaps: [],
    goodCheckpoints: [],
    tornTail: undefined,
    damage: undefined,
  })
})
