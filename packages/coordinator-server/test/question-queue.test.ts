import { SimulatedClock } from '@tenure/testing'
import t from 'tap'
import { QuestionQueue } from '../src/questions/question-queue.js'

/** A queue whose questions each take so long. */
function create({ questionMs = 0, isBusy = false } = {}) {
  const clock = new SimulatedClock({ soon: 'manual' })
  const answered: string[] = []
  let spentMs = 0
  const slowed = {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs() + spentMs,
    setTimer: clock.setTimer.bind(clock),
    soon: clock.soon.bind(clock),
  }
  const turns: string[][] = []
  slowed.soon = (callback) =>
    clock.soon(() => {
      callback()
      turns.push(answered.splice(0))
    })
  const queue = new QuestionQueue<string>(
    slowed,
    () => isBusy,
    (question) => {
      spentMs += questionMs
      answered.push(question)
    },
  )
  return { clock, queue, answered, turns }
}

const [one, other] = [{}, {}]

t.test('questions are answered in a later turn, a short time in each, one at least', async (t) => {
  const quick = create({ questionMs: 0.1 })
  for (const question of ['1', '2', '3', '4', '5']) quick.queue.add(one, question)
  t.strictSame(quick.answered, [])
  await quick.clock.settle()
  t.strictSame(quick.turns, [
    ['1', '2', '3'],
    ['4', '5'],
  ])
  const long = create({ questionMs: 100 })
  for (const question of ['1', '2']) long.queue.add(one, question)
  await long.clock.settle()
  t.strictSame(long.turns, [['1'], ['2']])
})

t.test(
  'who asks much takes turns with who asks little, and gets its answers in order',
  async (t) => {
    const { clock, queue, turns } = create()
    for (const question of ['1', '2', '3']) queue.add(one, question)
    queue.add(other, 'other')
    await clock.settle()
    t.strictSame(turns, [['1', 'other', '2', '3']])
  },
)

t.test('while there is other work, questions rest between their turns', async (t) => {
  const { clock, queue, answered, turns } = create({ questionMs: 1, isBusy: true })
  for (const question of ['1', '2', '3']) queue.add(one, question)
  await clock.settle()
  t.strictSame(turns, [['1']], 'the first one waits for nothing')
  await clock.advance(5)
  t.strictSame(answered, ['2'])
  await clock.advance(5)
  t.strictSame(answered, ['2', '3'])
})

t.test('questions of somebody who has left are not answered', async (t) => {
  const { clock, queue, turns } = create()
  queue.add(one, '1')
  queue.add(other, '2')
  queue.leave(one)
  await clock.settle()
  t.strictSame(turns, [['2']])
})

t.test('what is left at the end is answered at once', (t) => {
  const { queue, answered } = create({ questionMs: 100, isBusy: true })
  for (const question of ['1', '2', '3']) queue.add(one, question)
  queue.finish()
  t.strictSame(answered, ['1', '2', '3'])
  t.end()
})
