import { setTimeout } from 'node:timers/promises'
import type { Tenure } from '@tenure/client'
import t from 'tap'
import type { Acknowledged } from '../src/work/acknowledged.js'
import { submitAll } from '../src/work/submitting.js'

const options = { faultMs: 1000, tasks: 10, seed: 1, workers: 1, paddingBytesMax: 1, keep: false }

t.test('whoever is not told how many tasks wait leaves no submission behind', async (t) => {
  let onTheirWay = 0
  const tenure = {
    async stats() {
      throw new Error('nobody is told')
    },
    /** Is answered too late for anybody. */
    async submit(_payload: Uint8Array, { signal }: { signal: AbortSignal }) {
      onTheirWay++
      return setTimeout(60_000, { taskId: 1 }, { signal }).finally(() => onTheirWay--)
    },
  } as unknown as Tenure
  const acknowledged = { add: () => t.fail('nothing was answered') } as unknown as Acknowledged
  const book = { acknowledged, noteRefusal: () => {} }
  const submitting = submitAll(tenure, options, book, new AbortController().signal)
  await t.rejects(submitting, { message: 'nobody is told' })
  t.equal(onTheirWay, 0)
})
