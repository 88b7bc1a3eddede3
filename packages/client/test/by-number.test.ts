import { QuietChecks, Random } from '@tenure/testing'
import t from 'tap'
import { ByNumber } from '../src/by-number.js'

t.test('what stands under a number is found, replaced and taken away', async (t) => {
  const things = new ByNumber<string>()
  things.set(7, 'seven')
  things.set(1000, 'a thousand')
  things.set(1000, 'a thousand, again')
  t.equal(things.size, 2)
  t.equal(things.get(7), 'seven')
  t.equal(things.get(1000), 'a thousand, again')
  t.equal(things.get(8), undefined)
  t.ok(things.has(7))
  t.notOk(things.has(263))
  t.equal(things.delete(7), 'seven')
  t.equal(things.delete(7), undefined)
  t.equal(things.delete(9999), undefined)
  t.same(things.all(), ['a thousand, again'])
  things.clear()
  t.equal(things.size, 0)
  t.equal(things.first(), undefined)
})

t.test('it is what a Map would be, with numbers that go up', async (t) => {
  const checks = new QuietChecks(t)
  for (let seed = 1; seed <= 8; seed++) {
    const random = new Random(seed)
    const things = new ByNumber<number>()
    const model = new Map<number, number>()
    let number = random.integer(1000)
    for (let step = 0; step < 1500; step++) {
      const where = `seed ${seed}, step ${step}`
      if (random.chance(0.5)) {
        number += random.chance(0.05) ? random.integer(1000) : 1
        things.set(number, number)
        model.set(number, number)
      } else {
        const known = [...model.keys()]
        // Mostly the oldest, as answers come; now and then any.
        const at = random.chance(0.7) ? 0 : random.integer(known.length + 1)
        const key = known[at] ?? number + 1
        checks.equal(things.delete(key), model.get(key), where)
        model.delete(key)
      }
      const [first] = model.values()
      checks.equal(things.first(), first, where)
      checks.equal(things.size, model.size, where)
    }
    t.same(things.all(), [...model.values()])
  }
  t.ok(checks.count > 25_000)
})

t.test('the order is that of the numbers, also where a lower one comes late', async (t) => {
  const things = new ByNumber<number>()
  for (const number of [5000, 900, 901, 2000, 1]) things.set(number, number)
  t.same(things.all(), [1, 900, 901, 2000, 5000])
  t.equal(things.first(), 1)
  things.delete(1)
  things.set(899, 899)
  t.equal(things.first(), 899)
})

t.test('what stands beside the first numbers, on either side, finds room', async (t) => {
  for (const beside of [300, 511, 256]) {
    const things = new ByNumber<number>()
    for (const number of [290, 293]) things.set(number, number)
    things.delete(290)
    t.equal(things.get(beside), undefined)
    t.equal(things.delete(beside), undefined)
    things.set(beside, beside)
    const numbers = [293, beside].sort((one, other) => one - other)
    t.same(things.all(), numbers)
    t.equal(things.first(), numbers[0])
    t.equal(things.delete(293), 293)
    t.equal(things.first(), beside)
  }
})

t.test('behind 2^32 numbers begin anew, and come after those before', async (t) => {
  const things = new ByNumber<number>()
  const numbers = [2 ** 32 - 700, 2 ** 32 - 1, 1, 2, 600]
  for (const number of numbers.toReversed()) things.set(number, number)
  t.same(things.all(), numbers)
  t.equal(things.first(), 2 ** 32 - 700)
})
