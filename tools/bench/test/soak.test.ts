import t from 'tap'
import { measureSoak } from '../src/soak/measure.js'
import { Stretches } from '../src/soak/stretches.js'

t.test(
  'under a steady load the log stays within its configured bound, and the coordinator restarts',
  async (t) => {
    const figures = await measureSoak({
      seconds: 1,
      livesPerSecond: 400,
      tell: () => {},
      replayMs: 10,
      historyBytes: 0,
      segmentBytes: 2 ** 20,
    })
    // The durations themselves need a longer run on an idle machine.
    const find = (name: string) => figures.find((figure) => figure.name.startsWith(name))
    t.ok(Number(find('checkpoints made')?.value) >= 2, 'checkpoints are made')
    t.match(find('log on the disk'), { holds: true })
    t.ok(Number.isFinite(find('kill to first line')?.value))
    t.ok(Number(find('task lives')?.value) > 0)
  },
)

function addMany(stretches: Stretches, count: number, ms: number): void {
  for (let index = 0; index < count; index++) stretches.add('submit', ms)
}

t.test('one slow checkpoint does not move the median, but shows in the p99 over all', async (t) => {
  const stretches = new Stretches()
  for (const ms of [1, 90, 1]) {
    stretches.begin('checkpoint')
    addMany(stretches, 1000, ms)
    stretches.begin('quiet')
    addMany(stretches, 1000, 1)
  }
  t.equal(stretches.checkpoints, 3)
  const rounded = stretches.p99s('checkpoint', 'submit').map(Math.round)
  t.same(rounded, [1, 90, 1])
  t.ok(stretches.p99('checkpoint', 'submit') > 80)
  t.ok(stretches.p99('quiet', 'submit') < 2)
})

t.test('a stretch that is unfinished or too short has no p99 of its own', async (t) => {
  const stretches = new Stretches()
  stretches.begin('checkpoint')
  addMany(stretches, 10, 1)
  stretches.begin('quiet')
  addMany(stretches, 1000, 1)
  t.same(stretches.p99s('checkpoint', 'submit'), [])
  t.same(stretches.p99s('quiet', 'submit'), [])
})
