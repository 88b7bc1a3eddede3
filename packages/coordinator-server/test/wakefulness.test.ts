import t from 'tap'
import { awakeMs, Wakefulness } from '../src/net/wakefulness.js'

/** An event loop of which each turn is made by hand. */
class Loop {
  nowMs = 0
  turns = 0
  #next: (() => void) | undefined

  monotonicMs(): number {
    return this.nowMs
  }

  soon(callback: () => void): void {
    if (this.#next !== undefined) throw new Error('one callback for each turn is enough')
    this.#next = callback
  }

  get isAwake(): boolean {
    return this.#next !== undefined
  }

  /** As long as it is awake, but no more than so many turns. */
  turn(turns: number, msEach: number): void {
    for (let turn = 0; turn < turns && this.#next !== undefined; turn++) {
      this.nowMs += msEach
      this.turns++
      const next = this.#next
      this.#next = undefined
      next()
    }
  }
}

const [one, other] = [{}, {}]

/** A request that comes so long after the last answer, and is answered at once. */
function ask(wakefulness: Wakefulness, loop: Loop, afterMs: number, connection = one): void {
  loop.nowMs += afterMs
  wakefulness.heard(connection)
  wakefulness.answered(connection)
}

t.test('where one asks alone, and soon, the loop stays awake for the next request', (t) => {
  const loop = new Loop()
  const wakefulness = new Wakefulness(loop)
  ask(wakefulness, loop, 1000)
  t.notOk(loop.isAwake, 'nothing is known of who asks for the first time')
  ask(wakefulness, loop, awakeMs / 2)
  t.ok(loop.isAwake)
  loop.turn(4, awakeMs / 5)
  t.ok(loop.isAwake)
  ask(wakefulness, loop, 0)
  loop.turn(4, awakeMs / 5)
  t.ok(loop.isAwake, 'each answer begins the time anew')
  loop.turn(4, awakeMs / 5)
  t.notOk(loop.isAwake)
  t.equal(loop.turns, 10)
  t.end()
})

t.test('where nothing follows soon the loop sleeps at once, until it does', (t) => {
  const loop = new Loop()
  const wakefulness = new Wakefulness(loop)
  for (let request = 0; request < 5; request++) {
    ask(wakefulness, loop, awakeMs * 1.5)
    t.notOk(loop.isAwake)
  }
  ask(wakefulness, loop, awakeMs / 2)
  loop.turn(100, awakeMs / 5)
  ask(wakefulness, loop, awakeMs * 10)
  t.notOk(loop.isAwake, 'who has waited in vain sleeps the next time')
  t.end()
})

t.test('where several ask the loop sleeps, and takes together what they ask', (t) => {
  const loop = new Loop()
  const wakefulness = new Wakefulness(loop)
  for (let request = 0; request < 5; request++) {
    for (const connection of [one, other]) ask(wakefulness, loop, 0, connection)
    t.notOk(loop.isAwake)
  }
  ask(wakefulness, loop, 0, other)
  t.ok(loop.isAwake, 'the other one asks alone now')
  ask(wakefulness, loop, 0, one)
  loop.turn(1, 0)
  t.notOk(loop.isAwake)
  for (const connection of [one, other]) wakefulness.heard(connection)
  for (const connection of [one, other]) wakefulness.answered(connection)
  for (const connection of [one, other]) wakefulness.heard(connection)
  t.notOk(loop.isAwake, 'the last one of a batch is not alone')
  t.end()
})
