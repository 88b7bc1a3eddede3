import { subsets } from '@tenure/testing'
import t from 'tap'
import {
  appendOneByOne,
  appendTogether,
  outcomeOf,
  range,
  recordOf,
  rejection,
  replayedLsns,
  World,
} from './world.js'

/** The smallest segments there can be: they make the smallest log with several of them. */
const tiny = { segmentBytes: 1736, appendBytesMax: 1024 }

/** A log of two epochs and several segments, whose writer has just been killed. */
async function crashedLog(): Promise<{ world: World; acknowledged: number }> {
  const world = new World()
  const first = await world.open(tiny)
  await appendOneByOne(first, 10)
  await first.close()
  const second = await world.open(tiny)
  await appendTogether(second, 5)
  const acknowledged = await appendOneByOne(second, 4)
  return { world: world.with(world.disk.powerLoss('keep-all')), acknowledged }
}

t.test('every single-bit flip of a small log is refused or loses nothing', async (t) => {
  const { world, acknowledged } = await crashedLog()
  const expected = range(1, acknowledged)
  const seen = new Map<string, number>()
  let flips = 0
  for (const name of world.files().filter((it) => it.endsWith('.wal') || it === 'HEAD')) {
    const bits = world.disk.readFile(world.path(name)).length * 8
    for (let bit = 0; bit < bits; bit++) {
      const flipped = world.copy()
      flipped.disk.flipBit(flipped.path(name), bit)
      const outcome = await outcomeOf(t, flipped, tiny)
      flips++
      const what = 'refused' in outcome ? outcome.refused : 'whole'
      seen.set(what, (seen.get(what) ?? 0) + 1)
      if ('lsns' in outcome && outcome.lsns.length !== expected.length) {
        t.same(outcome.lsns, expected, `bit ${bit} of ${name}`)
      }
    }
  }
  t.comment(`${flips} flips: ${[...seen].map(([what, count]) => `${count} ${what}`).join(', ')}`)
  t.ok((seen.get('WAL_CORRUPT') ?? 0) > 0)
  t.ok((seen.get('whole') ?? 0) > 0)
})
