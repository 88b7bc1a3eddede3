import type { Logger } from '@tenure/app-kit'
import { RejectedError, TenureError } from '@tenure/client'
import t from 'tap'
import { observeWorker } from '../src/events.js'

const endpoint = 'a:7411'
const away = new TenureError('CLIENT_DISCONNECTED', 'cannot connect')
const refusing = new RejectedError({ reason: 'UNAUTHORIZED', message: 'the token is wrong' })
const stopping = new RejectedError({ reason: 'STOPPING', message: 'it stops' })

/** An observer and what it has written. */
function observe() {
  const lines: object[] = []
  const write = (level: string) => (fields: object, msg: string) => {
    lines.push({ level, msg, ...fields })
  }
  const logger = { warn: write('warn'), error: write('error'), info: write('info') }
  return { lines, observer: observeWorker(logger as unknown as Logger) }
}

t.test('a coordinator that refuses is not one that is not there', async (t) => {
  const { lines, observer } = observe()
  observer.attemptFailed?.({ endpoint, error: away, retryInMs: 100 })
  observer.attemptFailed?.({ endpoint, error: stopping, retryInMs: 100 })
  observer.attemptFailed?.({ endpoint, error: refusing })
  t.match(lines, [
    { level: 'warn', msg: 'no coordinator there; trying on', detail: 'cannot connect' },
    { level: 'warn', msg: 'the coordinator lets nobody in now; trying on', detail: /STOPPING/ },
    { level: 'error', msg: 'the coordinator refuses this worker', detail: /UNAUTHORIZED/ },
  ])
})

t.test(
  'of the same failure every line is followed by twice as many that are not written',
  async (t) => {
    const { lines, observer } = observe()
    for (let times = 0; times < 20; times++) {
      observer.attemptFailed?.({ endpoint, error: away, retryInMs: 100 })
    }
    t.match(
      lines,
      [1, 2, 4, 8, 16].map((attempt) => ({ attempt })),
    )
    observer.attemptFailed?.({ endpoint, error: refusing })
    t.match(lines.at(-1), { level: 'error', attempt: 1 }, 'another one is news')
  },
)
