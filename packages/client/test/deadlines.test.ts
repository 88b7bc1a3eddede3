import { SimulatedClock } from '@tenure/testing'
import t from 'tap'
import { Deadlines } from '../src/deadlines.js'

class World {
  readonly clock = new SimulatedClock()
  readonly over: string[] = []
  readonly deadlines = new Deadlines<string>(this.clock, 1000, (call) => this.over.push(call))
}

t.test(
  'each call ends when its own time is over, with one timer for those of equal length',
  async (t) => {
    const { clock, over, deadlines } = new World()
    deadlines.add('first', 1000)
    await clock.advance(400)
    deadlines.add('second', 1000)
    deadlines.add('short', 100)
    t.equal(clock.timers, 2)
    await clock.advance(99)
    t.same(over, [])
    await clock.advance(1)
    t.same(over, ['short'])
    await clock.advance(500)
    t.same(over, ['short', 'first'])
    await clock.advance(399)
    t.same(over, ['short', 'first'])
    await clock.advance(1)
    t.same(over, ['short', 'first', 'second'])
    t.equal(clock.timers, 0)
  },
)

t.test('a call that has ended by itself is not called back', async (t) => {
  const { clock, over, deadlines } = new World()
  deadlines.add('first', 1000)
  deadlines.add('second', 1000)
  deadlines.remove('first', 1000)
  deadlines.remove('never added', 1000)
  await clock.advance(2000)
  t.same(over, ['second'])
})

t.test(
  'the timer of an unusual length goes with its last call; the usual one is kept',
  async (t) => {
    const { clock, over, deadlines } = new World()
    deadlines.add('usual', 1000)
    deadlines.add('unusual', 7)
    deadlines.remove('usual', 1000)
    deadlines.remove('unusual', 7)
    t.equal(clock.timers, 1)
    await clock.advance(600)
    deadlines.add('later', 1000)
    t.equal(clock.timers, 1)
    await clock.advance(999)
    t.same(over, [])
    await clock.advance(1)
    t.same(over, ['later'])
  },
)

t.test('whoever is called back may begin a call of the same length', async (t) => {
  const clock = new SimulatedClock()
  const over: number[] = []
  const deadlines = new Deadlines<number>(clock, 1000, (call) => {
    over.push(call)
    if (call < 3) deadlines.add(call + 10, 10)
  })
  deadlines.add(1, 10)
  deadlines.add(2, 10)
  await clock.advance(10)
  t.same(over, [1, 2])
  t.equal(clock.timers, 1)
  await clock.advance(10)
  t.same(over, [1, 2, 11, 12])
  t.equal(clock.timers, 0)
})

t.test('no deadline, and none any more', async (t) => {
  const { clock, over, deadlines } = new World()
  deadlines.add('for ever', Number.POSITIVE_INFINITY)
  deadlines.remove('for ever', Number.POSITIVE_INFINITY)
  t.equal(clock.timers, 0)
  deadlines.add('usual', 1000)
  deadlines.clear()
  t.equal(clock.timers, 0)
  await clock.advance(5000)
  t.same(over, [])
})
