import { SimulatedClock } from '@tenure/testing'
import t from 'tap'
import { type Armable, LateTimers } from '../src/attempt/late-timers.js'

/** Notes when it was armed. */
class Noting implements Armable {
  readonly armedAtMs: number[] = []
  readonly dueAtMs: number
  readonly #clock: SimulatedClock

  constructor(clock: SimulatedClock, dueInMs: number) {
    this.#clock = clock
    this.dueAtMs = clock.monotonicMs() + dueInMs
  }

  arm(): void {
    this.armedAtMs.push(this.#clock.monotonicMs())
  }
}

function setUp() {
  const clock = new SimulatedClock()
  const all: Noting[] = []
  const timers = new LateTimers(clock, all)
  const begin = (dueInMs: number) => {
    const one = new Noting(clock, dueInMs)
    all.push(one)
    timers.begun(one)
    return one
  }
  return { clock, all, timers, begin, startMs: clock.monotonicMs() }
}

t.test('no timer is set for what ends at once', async (t) => {
  const { clock, all, begin } = setUp()
  const ended = begin(5000)
  all.pop()
  await clock.advance(1000)
  t.strictSame(ended.armedAtMs, [])
  t.equal(clock.timers, 0)
})

t.test('whoever is there after a while gets its timer, with all that began since', async (t) => {
  const { clock, begin, startMs } = setUp()
  const first = begin(5000)
  await clock.advance(200)
  const second = begin(5000)
  t.equal(clock.timers, 1, 'one serves them all')
  await clock.advance(50)
  t.strictSame([first.armedAtMs, second.armedAtMs], [[startMs + 250], [startMs + 250]])
  const third = begin(5000)
  await clock.advance(250)
  t.strictSame(third.armedAtMs, [startMs + 500])
})

t.test('what is due before that gets its timer at once', async (t) => {
  const { clock, begin, startMs } = setUp()
  t.strictSame(begin(250).armedAtMs, [startMs])
  t.equal(clock.timers, 0)
  t.strictSame(begin(251).armedAtMs, [])
  t.equal(clock.timers, 1)
})

t.test('stopped in between it leaves nothing', (t) => {
  const { clock, timers, begin } = setUp()
  begin(5000)
  timers.stop()
  t.equal(clock.timers, 0)
  t.end()
})
