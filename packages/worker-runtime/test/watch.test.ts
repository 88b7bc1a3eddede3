import { SimulatedClock } from '@tenure/testing'
import t from 'tap'
import { type Timed, Watch } from '../src/watch.js'

/** Notes when it was told that its time had come, and what is due then. */
class Noting implements Timed {
  readonly toldAtMs: number[] = []
  dueAtMs: number
  readonly #clock: SimulatedClock
  readonly #onDue: (one: Noting) => void

  constructor(clock: SimulatedClock, dueAtMs: number, onDue: (one: Noting) => void = rest) {
    this.#clock = clock
    this.dueAtMs = dueAtMs
    this.#onDue = onDue
  }

  onDue(): void {
    this.toldAtMs.push(this.#clock.monotonicMs())
    this.#onDue(this)
  }
}

const rest = (one: Noting) => {
  one.dueAtMs = Number.POSITIVE_INFINITY
}

t.test('each is told at its time, in whichever order they came', async (t) => {
  const clock = new SimulatedClock()
  const all = [300, 100, 200, 100].map((ms) => new Noting(clock, clock.monotonicMs() + ms))
  const due = all.map(({ dueAtMs }) => dueAtMs)
  const watch = new Watch(clock, all)
  for (const { dueAtMs } of all) watch.expect(dueAtMs)
  t.equal(clock.timers, 1)
  await clock.advance(1000)
  t.strictSame(
    all.map(({ toldAtMs }) => toldAtMs),
    due.map((atMs) => [atMs]),
  )
  t.equal(clock.timers, 0, 'nothing is due, so there is no timer')
})

t.test('the timer may ring for one that has gone, and for the next at its time', async (t) => {
  const clock = new SimulatedClock()
  const [gone, next] = [100, 150].map((ms) => new Noting(clock, clock.monotonicMs() + ms))
  const all = [gone!, next!]
  const watch = new Watch(clock, all)
  for (const { dueAtMs } of all) watch.expect(dueAtMs)
  all.shift()
  const { dueAtMs } = next!
  await clock.advance(1000)
  t.strictSame(gone!.toldAtMs, [])
  t.strictSame(next!.toldAtMs, [dueAtMs])
})

t.test('what is done for one may end another, and may make something due again', async (t) => {
  const clock = new SimulatedClock()
  const start = clock.monotonicMs()
  const all: Noting[] = []
  const again = new Noting(clock, start + 10, (one) => {
    all.splice(1)
    one.dueAtMs = one.toldAtMs.length < 3 ? one.dueAtMs + 10 : Number.POSITIVE_INFINITY
  })
  all.push(again, new Noting(clock, start + 20))
  const ended = all[1]!
  const watch = new Watch(clock, all)
  watch.expect(again.dueAtMs)
  await clock.advance(1000)
  t.strictSame(again.toldAtMs, [start + 10, start + 20, start + 30])
  t.strictSame(ended.toldAtMs, [])
})

t.test('one that stops the watch leaves no timer', async (t) => {
  const clock = new SimulatedClock()
  const all = [new Noting(clock, clock.monotonicMs() + 100)]
  const watch = new Watch(clock, all)
  watch.expect(all[0]!.dueAtMs)
  watch.stop()
  t.equal(clock.timers, 0)
})
