import { SimulatedClock } from '@tenure/testing'
import t from 'tap'
import { Ending } from '../src/attempt/ending.js'
import { WorkerError } from '../src/errors.js'

t.test('a handler that goes in the moment in which it is terminated is not stuck', async (t) => {
  const clock = new SimulatedClock()
  const terminate = () => {
    ending.over()
    return true
  }
  const onStuck = () => t.fail('it is gone')
  const ending: Ending = new Ending({ abort: () => undefined, terminate }, clock, onStuck)
  ending.tell(new WorkerError('WORKER_WINDOW_OVER', 'over'), 1000)
  await clock.advance(1000)
  t.equal(clock.timers, 0)
})

t.test('a handler that is told a second time has no more grace than before', async (t) => {
  const clock = new SimulatedClock()
  let terminations = 0
  const terminate = () => ++terminations > 0
  const ending = new Ending({ abort: () => undefined, terminate }, clock, () => undefined)
  ending.tell(new WorkerError('WORKER_WINDOW_OVER', 'over'), 1000)
  ending.tell(new WorkerError('WORKER_LEASE_LOST', 'lost'), 5000)
  await clock.advance(999)
  t.equal(terminations, 0)
  await clock.advance(1)
  t.equal(terminations, 1)
  t.equal(ending.reason?.code, 'WORKER_WINDOW_OVER')
  ending.over()
  t.equal(clock.timers, 0)
})
