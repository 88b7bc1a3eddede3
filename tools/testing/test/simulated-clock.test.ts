import t from 'tap'
import { SimulatedClock } from '../src/index.js'

t.test('no time passes by itself', async (t) => {
  const clock = new SimulatedClock({ startMs: 1000 })
  const before = clock.monotonicMs()
  clock.setTimer(0, () => t.fail('a timer ran without anyone advancing the clock'))
  await clock.settle()
  t.equal(clock.now(), 1000)
  t.equal(clock.monotonicMs(), before)
})

t.test('timers run in the order of their due times, each at its own time', async (t) => {
  const clock = new SimulatedClock({ startMs: 0 })
  const ran: [string, number][] = []
  const note = (name: string) => () => ran.push([name, clock.now()])
  clock.setTimer(30, note('c'))
  clock.setTimer(10, note('a'))
  clock.setTimer(10, note('b'))
  clock.setTimer(31, note('too late'))
  await clock.advance(30)
  t.same(ran, [
    ['a', 10],
    ['b', 10],
    ['c', 30],
  ])
  t.equal(clock.now(), 30)
  t.equal(clock.nextTimerMs, 1)
})

t.test('a timer set during an advance runs in the same advance if it becomes due', async (t) => {
  const clock = new SimulatedClock({ startMs: 0 })
  const ran: number[] = []
  const again = (): void => {
    ran.push(clock.now())
    clock.setTimer(10, again)
  }
  clock.setTimer(10, again)
  await clock.advance(35)
  t.same(ran, [10, 20, 30])
})

t.test('a cancelled timer does not run, and cancelling twice does no harm', async (t) => {
  const clock = new SimulatedClock()
  const timer = clock.setTimer(5, () => t.fail('cancelled'))
  clock.setTimer(5, () => t.pass('the other one runs'))
  timer.cancel()
  timer.cancel()
  t.equal(clock.timers, 1)
  await clock.advance(5)
  t.equal(clock.timers, 0)
})

t.test('the consequences of a timer settle before the next timer runs', async (t) => {
  for (const soon of ['immediate', 'manual'] as const) {
    const clock = new SimulatedClock({ soon })
    const ran: string[] = []
    const longChain = async (): Promise<void> => {
      for (let i = 0; i < 50; i++) await Promise.resolve()
      await new Promise<void>((resolve) => clock.soon(resolve))
      await Promise.resolve()
      ran.push('first')
    }
    clock.setTimer(1, () => void longChain())
    clock.setTimer(2, () => ran.push('second'))
    await clock.advance(2)
    t.same(ran, ['first', 'second'], soon)
  }
})

t.test('soon runs by itself, or with `manual` only while the clock is advanced', async (t) => {
  const immediate = new SimulatedClock()
  await new Promise<void>((resolve) => immediate.soon(resolve))
  const manual = new SimulatedClock({ soon: 'manual' })
  let ran = false
  manual.soon(() => {
    ran = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  t.notOk(ran)
  await manual.settle()
  t.ok(ran)
})

t.test('a jump of the wall clock affects neither durations nor timers', async (t) => {
  const clock = new SimulatedClock({ startMs: 10_000 })
  const before = clock.monotonicMs()
  let ran = false
  clock.setTimer(100, () => {
    ran = true
  })
  clock.jump(-5000)
  t.equal(clock.now(), 5000)
  t.equal(clock.monotonicMs(), before)
  await clock.advance(99)
  t.notOk(ran)
  await clock.advance(1)
  t.ok(ran)
  t.equal(clock.now(), 5100)
})

t.test('the wall clock drifts from its current time', async (t) => {
  const clock = new SimulatedClock({ startMs: 0 })
  await clock.advance(1000)
  clock.drift(1.5)
  await clock.advance(1000)
  t.equal(clock.now(), 2500)
  clock.drift(0)
  await clock.advance(1000)
  t.equal(clock.now(), 2500)
  t.equal(clock.monotonicMs() - new SimulatedClock().monotonicMs(), 3000)
})

t.test('the clock can advance from timer to timer', async (t) => {
  const clock = new SimulatedClock({ startMs: 0 })
  clock.setTimer(1e9, () => t.equal(clock.now(), 1e9))
  t.equal(await clock.advanceToNextTimer(), true)
  t.equal(await clock.advanceToNextTimer(), false)
  await t.rejects(clock.advance(-1), RangeError)
})

t.test('timers that become due during oversleep run late, in order', async (t) => {
  const clock = new SimulatedClock()
  const startMs = clock.monotonicMs()
  const ran: [name: string, ms: number][] = []
  for (const [name, ms] of [
    ['second', 200],
    ['first', 100],
  ] as const) {
    clock.setTimer(ms, () => ran.push([name, clock.monotonicMs() - startMs]))
  }
  clock.oversleep(1000)
  await clock.settle()
  t.strictSame(ran, [])
  await clock.advance(0)
  t.strictSame(ran, [
    ['first', 1000],
    ['second', 1000],
  ])
  t.throws(() => clock.oversleep(-1), RangeError)
})
