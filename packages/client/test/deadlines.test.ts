import { SimulatedClock } from '@tenure/testing'
import t from 'tap'
import { Deadlines } from '../src/link/deadlines.js'

interface NamedCall {
  readonly name: string
  readonly id: number
  dueMs: number
}

class World {
  readonly clock = new SimulatedClock()
  readonly over: string[] = []
  readonly #deadlines = new Deadlines<NamedCall>(this.clock, 1000, ({ name }) => {
    this.over.push(name)
    this.onOver(name)
  })
  readonly #calls = new Map<string, NamedCall>()
  onOver: (name: string) => void = () => {}

  add(name: string, timeoutMs: number): void {
    const call = { name, id: this.#calls.size, dueMs: 0 }
    this.#calls.set(name, call)
    this.#deadlines.add(call, timeoutMs)
  }

  remove(name: string, timeoutMs: number): void {
    const neverAdded = { name, id: this.#calls.size, dueMs: 0 }
    this.#deadlines.remove(this.#calls.get(name) ?? neverAdded, timeoutMs)
  }

  clear(): void {
    this.#deadlines.clear()
  }
}

t.test(
  'each call ends when its own time is over, with one timer for those of equal length',
  async (t) => {
    const world = new World()
    const { clock, over } = world
    world.add('first', 1000)
    await clock.advance(400)
    world.add('second', 1000)
    world.add('short', 100)
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
  const world = new World()
  const { clock, over } = world
  world.add('first', 1000)
  world.add('second', 1000)
  world.remove('first', 1000)
  world.remove('never added', 1000)
  await clock.advance(2000)
  t.same(over, ['second'])
})

t.test(
  'the timer of an unusual length goes with its last call; the usual one is kept',
  async (t) => {
    const world = new World()
    const { clock, over } = world
    world.add('usual', 1000)
    world.add('unusual', 7)
    world.remove('usual', 1000)
    world.remove('unusual', 7)
    t.equal(clock.timers, 1)
    await clock.advance(600)
    world.add('later', 1000)
    t.equal(clock.timers, 1)
    await clock.advance(999)
    t.same(over, [])
    await clock.advance(1)
    t.same(over, ['later'])
  },
)

t.test('whoever is called back may begin a call of the same length', async (t) => {
  const world = new World()
  const { clock, over } = world
  world.onOver = (name) => {
    if (name.length < 3) world.add(`${name}, again`, 10)
  }
  world.add('a', 10)
  world.add('b', 10)
  await clock.advance(10)
  t.same(over, ['a', 'b'])
  t.equal(clock.timers, 1)
  await clock.advance(10)
  t.same(over, ['a', 'b', 'a, again', 'b, again'])
  t.equal(clock.timers, 0)
})

t.test('no deadline, and none any more', async (t) => {
  const world = new World()
  const { clock, over } = world
  world.add('for ever', Number.POSITIVE_INFINITY)
  world.remove('for ever', Number.POSITIVE_INFINITY)
  t.equal(clock.timers, 0)
  world.add('usual', 1000)
  world.clear()
  t.equal(clock.timers, 0)
  await clock.advance(5000)
  t.same(over, [])
})
