import t from 'tap'
import { Random } from '../src/index.js'

const draw = (random: Random, count = 20): number[] =>
  Array.from({ length: count }, () => random.next())

t.test('the same seed gives the same numbers, another seed different ones', async (t) => {
  t.same(draw(new Random(7)), draw(new Random(7)))
  t.notSame(draw(new Random(7)), draw(new Random(8)))
  t.notSame(draw(new Random(1)), draw(new Random(2 ** 32 + 1)), 'the upper half of a seed counts')
  t.throws(() => new Random(0.5), RangeError)
})

t.test('the sequence of a seed never changes, because seeds identify failures', async (t) => {
  const random = new Random(42)
  t.same(
    Array.from({ length: 8 }, () => random.integer(1000)),
    [982, 285, 15, 183, 348, 608, 93, 434],
  )
})

t.test('numbers are in range and evenly distributed', async (t) => {
  const random = new Random(1)
  const counts = new Array<number>(10).fill(0)
  for (let i = 0; i < 10_000; i++) {
    const n = random.integer(10)
    counts[n] = (counts[n] ?? 0) + 1
  }
  t.equal(counts.length, 10)
  for (const count of counts) t.ok(count > 850 && count < 1150, `about a tenth: ${count}`)
  t.ok(draw(random, 1000).every((n) => n >= 0 && n < 1))
  t.equal(random.integer(1), 0)
  t.throws(() => random.integer(0), RangeError)
})

t.test('chance(0) is never true and chance(1) always', async (t) => {
  const random = new Random(2)
  for (let i = 0; i < 1000; i++) {
    if (random.chance(0)) t.fail('0 happened')
    if (!random.chance(1)) t.fail('1 did not happen')
  }
})

t.test('pick returns given values and bytes the given length', async (t) => {
  const random = new Random(3)
  const letters = ['a', 'b', 'c'] as const
  const picked = new Set(Array.from({ length: 50 }, () => random.pick(letters)))
  t.same([...picked].sort(), letters)
  t.throws(() => random.pick([]), RangeError)
  t.equal(random.bytes(7).length, 7)
  t.ok(new Set(random.bytes(1000)).size > 200)
})

t.test('a fork is independent: its draws do not affect its parent', async (t) => {
  const [a, b] = [new Random(4), new Random(4)]
  const fork = a.fork()
  b.fork()
  draw(fork, 100)
  t.same(draw(a), draw(b))
  t.notSame(draw(fork), draw(a))
})
