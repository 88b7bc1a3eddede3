import { setTimeout } from 'node:timers/promises'
import type { Tenure } from '@tenure/client'
import t from 'tap'
import type { Acknowledged } from '../src/work/acknowledged.js'
import { submitAll } from '../src/work/submitting.js'

const options = { faultMs: 1000, tasks: 10, seed: 1, workers: 1, paddingBytesMax: 1, keep: false }

t.test('a failed query of the backlog leaves no submission in flight', async (t) => {
  let inFlight = 0
  const tenure = {
    async stats() {
      throw new Error('no statistics')
    },
    /** Never answered: it ends only with the signal. */
    async submit(_payload: Uint8Array, { signal }: { signal: AbortSignal }) {
      inFlight++
      return setTimeout(60_000, { taskId: 1 }, { signal }).finally(() => inFlight--)
    },
  } as unknown as Tenure
  const acknowledged = {
    add: () => t.fail('a submission was acknowledged'),
  } as unknown as Acknowledged
  const book = { acknowledged, noteRefusal: () => {} }
  const submitting = submitAll(tenure, options, book, new AbortController().signal)
  await t.rejects(submitting, { message: 'no statistics' })
  t.equal(inFlight, 0)
})
