import type { Answer, History } from '@tenure/protocol'
import t from 'tap'
import { Histories } from '../src/questions/histories.js'
import { ScriptedReader } from './scripted-reader.js'

const page = { firstLsn: 1, records: [], openings: [] }

function create() {
  const reader = new ScriptedReader()
  const queryFor = ({ kind, id, ...place }: History) => ({
    ...place,
    ...{ leaseIds: [], throughLsn: 9, bytesMax: 100 },
  })
  const histories = new Histories(reader, queryFor)
  const answers: Answer[] = []
  const ask = (asker: object, id: number) =>
    histories.add(asker, { kind: 'history', id, taskId: id, fromLsn: 1 }, (answer) =>
      answers.push(answer),
    )
  return { reader, histories, answers, ask }
}

const [one, other] = [{}, {}]

t.test('pages are read one at a time, in the order in which they were asked for', async (t) => {
  const { reader, answers, ask } = create()
  for (const id of [1, 2, 3]) ask(id === 2 ? other : one, id)
  t.strictSame(reader.asked(), [1])
  for (const id of [1, 2, 3]) {
    await reader.give(page)
    t.match(answers.at(-1), { kind: 'history', id, ...page })
  }
  t.strictSame([reader.asked(), answers.length], [[1, 2, 3], 3])
})

t.test('more than may wait are sent away for a while', async (t) => {
  const { reader, answers, ask } = create()
  for (let id = 1; id <= 17; id++) ask(one, id)
  t.match(answers, [{ kind: 'rejected', id: 17, reason: 'OVERLOADED', retryAfterMs: 1000 }])
  await reader.give(page)
  ask(one, 18)
  t.equal(answers.length, 2, 'there is room again')
})

t.test('what is read for somebody who leaves is given up, and the next one comes', async (t) => {
  const { reader, histories, answers, ask } = create()
  ask(one, 1)
  ask(one, 2)
  ask(other, 3)
  histories.leave(one)
  t.equal(reader.signal.aborted, true)
  t.strictSame(reader.asked(), [1], 'one at a time still')
  await reader.fail(new Error('given up'))
  t.strictSame([reader.asked(), reader.signal.aborted], [[1, 3], false])
  histories.leave({})
  t.equal(reader.signal.aborted, false)
  await reader.give(page)
  t.match(answers, [{ kind: 'history', id: 3 }])
})

t.test("a page that comes all the same for somebody who has left is nobody else's", async (t) => {
  const { reader, histories, answers, ask } = create()
  ask(one, 1)
  ask(other, 2)
  histories.leave(one)
  await reader.give(page)
  t.strictSame(answers, [])
  await reader.give({ ...page, firstLsn: 7 })
  t.match(answers, [{ kind: 'history', id: 2, firstLsn: 7 }])
})

t.test('a log that cannot be read is an answer, and the next one is read for', async (t) => {
  const { reader, answers, ask } = create()
  ask(one, 1)
  ask(one, 2)
  await reader.fail(new Error('segment 3 is damaged'))
  t.match(answers, [
    { kind: 'rejected', id: 1, reason: 'INTERNAL', message: /segment 3 is damaged/ },
  ])
  await reader.give(page)
  t.match(answers[1], { kind: 'history', id: 2 })
})

t.test('at the end whoever waits is told so, and nothing more is read', async (t) => {
  const { reader, histories, answers, ask } = create()
  ask(one, 1)
  ask(other, 2)
  histories.finish()
  const stopping = { kind: 'rejected', reason: 'STOPPING' }
  t.match(answers, [
    { ...stopping, id: 1 },
    { ...stopping, id: 2 },
  ])
  t.equal(reader.signal.aborted, true)
  await reader.fail(new Error('given up'))
  t.strictSame([reader.asked(), answers.length], [[1], 2])
})

t.test('without a reader everybody is told that there is none', (t) => {
  const histories = new Histories(undefined, () => t.fail('nothing is read') as never)
  const answers: Answer[] = []
  histories.add(one, { kind: 'history', id: 1, taskId: 1, fromLsn: 1 }, (own) => answers.push(own))
  t.match(answers, [{ kind: 'rejected', id: 1, reason: 'INTERNAL', message: /no way to read/ }])
  t.end()
})
