import t from 'tap'
import { awakeMs, Wakefulness } from '../src/wakefulness.js'

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

/** A request that comes so long after the last answer, and is answered at once. */
function ask(wakefulness: Wakefulness, loop: Loop, afterMs: number): void {
  loop.nowMs += afterMs
  wakefulness.heard()
  wakefulness.answered()
}

t.test('where requests follow soon on answers the loop stays awake for the next one', (t) => {
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

t.test('many answers in one turn keep it awake once', (t) => {
  const loop = new Loop()
  const wakefulness = new Wakefulness(loop)
  ask(wakefulness, loop, 0)
  for (let request = 0; request < 64; request++) ask(wakefulness, loop, 0)
  loop.turn(100, awakeMs)
  t.equal(loop.turns, 2)
  t.end()
})
