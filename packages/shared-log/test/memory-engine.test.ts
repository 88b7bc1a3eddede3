import { Random, SimulatedClock } from '@tenure/testing'
import t from 'tap'
import { type Fate, MemoryEngine, testSharedLog } from '../src/index.js'

testSharedLog(
  () => {
    const engine = new MemoryEngine()
    return { connect: (user) => engine.connect(user), remove() {} }
  },
  (name, run) => t.test(name, run),
)

testSharedLog(
  () => {
    const random = new Random(7)
    const fates: Fate[] = ['pass', 'pass', 'pass', 'lose', { lateMs: 5 }]
    const engine = new MemoryEngine({
      fateOf: ({ call, way }) => {
        const isRepeated = call === 'append' || call === 'read' || call === 'truncate'
        const fate = isRepeated ? random.pick(fates) : 'pass'
        return way === 'answer' && typeof fate === 'object' ? 'lose' : fate
      },
    })
    return { connect: (user) => engine.connect(user), remove() {} }
  },
  (name, run) => t.test(`with lost and late messages: ${name}`, run),
)

t.test('a full engine stores nothing until it has space', async (t) => {
  const engine = new MemoryEngine({ bytesMax: 10 })
  const log = engine.connect('a')
  t.equal(await log.append(0, Buffer.alloc(8), () => false), 'stored')
  t.equal(await log.append(1, Buffer.alloc(8), () => false), 'full')
  engine.bytesMax = 16
  t.equal(await log.append(1, Buffer.alloc(8), () => false), 'stored')
  t.match(await log.range(), { last: 2, bytes: 16, bytesMax: 16 })
})

t.test('an engine without a leader answers nothing, and goes on later', async (t) => {
  const clock = new SimulatedClock()
  const engine = new MemoryEngine({ clock })
  const log = engine.connect('a')
  engine.isLeaderless = true
  await t.rejects(log.range())
  const appended = log.append(0, Buffer.from('one'), () => false)
  await clock.advance(1000)
  t.equal(engine.range.last, 0)
  engine.isLeaderless = false
  await clock.advance(100)
  t.equal(await appended, 'stored')
})

t.test('what befalls an engine changes what its users read', async (t) => {
  const engine = new MemoryEngine()
  const log = engine.connect('a')
  for (const [after, text] of ['one', 'two', 'three'].entries()) {
    await log.append(after, Buffer.from(text), () => false)
  }
  engine.forget(1)
  t.match(await log.range(), { first: 1, last: 2 })
  engine.flip(2, 0)
  t.equal(engine.at(2)?.[0], 't'.charCodeAt(0) ^ 1)
  engine.write(Buffer.from('by a stranger'))
  t.equal((await log.range()).last, 3)
  engine.wipe()
  t.match(await log.range(), { first: 0, last: 0, bytes: 0 })
})
