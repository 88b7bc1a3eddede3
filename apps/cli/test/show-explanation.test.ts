import {
  type Explanation,
  explainRemembered,
  explainTask,
  History,
  readTaskHistory,
} from '@tenure/history'
import { getTask } from '@tenure/state-machine'
import { Book, sourceOf } from '@tenure/testing-histories'
import t from 'tap'
import { plain } from '../src/terminal/look.js'
import { widthOf } from '../src/terminal/text.js'
import { showExplanation } from '../src/verbs/explain/show.js'
import { onTerminal } from './facts.js'
import { golden } from './golden.js'

async function explain(book: Book, taskId: number): Promise<Explanation> {
  return explainTask(await readTaskHistory(new History(sourceOf(book)), taskId), { now: book.now })!
}

/** All that can happen to one task, with names as others may choose them. */
function hardLife() {
  const book = new Book()
  for (let other = 0; other < 9_990; other++) book.submit()
  const task = book.wait(5).submit({
    queue: 'mail',
    requestId: 'order-17',
    notBefore: book.now + 2000,
    executionWindowMs: 60_000,
    retryPolicy: { maxRetries: 1, backoff },
  })
  const first = book.wait(2500).lease(task, 'build-host-0123456789-12345')
  book.wait(10_000).extend(first)
  book.wait(25_000).extend(first)
  book.expire(first)
  const second = book.wait(20).lease(task, '構築-815')
  book.wait(3180).cancel(first)
  book
    .wait(1000)
    .fail(second, 'no room\nat all \u001b[2J, and this goes on for longer than any line is wide')
  const third = book.wait(1500).lease(task, 'w-3')
  book.wait(90_000).restart()
  book.expire(third, true)
  const last = book.wait(1).lease(task, 'w-4')
  book.wait(500).fail(last, 'no room')
  return { book, task }
}

const backoff = { kind: 'fixed', delayMs: 1000 } as const

t.test('a hard life is shown as ever', async (t) => {
  const { book, task } = hardLife()
  const told = await explain(book, task)
  golden(t, 'explain/hard-life', showExplanation(told, plain))
  golden(t, 'explain/hard-life-on-a-terminal', showExplanation(told, onTerminal))
})

t.test('a story fits in a hundred columns, and does nothing to a terminal', async (t) => {
  const { book, task } = hardLife()
  const shown = showExplanation(await explain(book, task), plain)
  t.same(
    shown.split('\n').filter((line) => widthOf(line) > 100),
    [],
  )
  t.notMatch(shown, /[^\P{Cc}\n]/u)
})

t.test('what is only remembered is shown as that', async (t) => {
  const { book, task } = hardLife()
  golden(
    t,
    'explain/from-memory',
    showExplanation(explainRemembered(getTask(book.state, task)!), plain),
  )
})
