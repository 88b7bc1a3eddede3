import { type Task, type Tenure, TenureError, type WaitOptions } from '@tenure/client'
import t from 'tap'
import { awaitingEnds } from '../src/verbs/wait.js'

const dayMs = 86_400_000
const completed = { taskId: 1, state: 'COMPLETED' } as Task
const running = { taskId: 1, state: 'LEASED' } as Task

/** A client whose tasks are what the test says, a clock that stands still, and what is waited for. */
function waitOver(timeoutMs: number | undefined, task: Task, tookMs = 0) {
  const waits: WaitOptions[] = []
  let now = 5000
  const tenure = {
    why: async () => {
      throw new TenureError('CLIENT_DISCONNECTED', 'nobody can tell')
    },
    get: async () => task,
    waitFor: async (_: number, options: WaitOptions) => {
      waits.push(options)
      now += tookMs
      if (task.state === 'COMPLETED') return task
      throw new TenureError('CLIENT_TIMEOUT', 'its time is over')
    },
  }
  const stderr = { fd: 2, write: () => {} }
  const deed = awaitingEnds(tenure as unknown as Tenure, timeoutMs, { stderr }, () => now)
  return { deed, waits }
}

t.test('a time limit that no timer of Node can count is kept all the same', async (t) => {
  // Above 2^31 - 1 ms a timer fires at once, and above 2^32 - 1 ms an AbortSignal has none.
  for (const timeoutMs of [30 * dayMs, 60 * dayMs, 2 ** 45]) {
    const { deed, waits } = waitOver(timeoutMs, completed)
    t.equal(await deed.act(1), completed)
    t.same(waits, [{ timeoutMs }])
  }
})

t.test('the time is for all together, and what has ended is told though it is over', async (t) => {
  const { deed, waits } = waitOver(100, completed, 60)
  for (const taskId of [1, 2, 3]) await deed.act(taskId)
  t.same(waits, [{ timeoutMs: 100 }, { timeoutMs: 40 }, { timeoutMs: 1 }])
  const { deed: tooLong } = waitOver(100, running)
  await t.rejects(tooLong.act(17), { code: 'TIME_IS_OVER', exitCode: 3, message: /100ms/ })
})

t.test('without a limit it waits for as long as it takes', async (t) => {
  const { deed, waits } = waitOver(undefined, completed)
  await deed.act(1)
  t.same(waits, [{ timeoutMs: Number.POSITIVE_INFINITY }])
})
