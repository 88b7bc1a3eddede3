import t from 'tap'
import { judgeLoss } from '../src/guard/ratios.js'

t.test('a clear slowdown is "lost"; a noisy machine gives no such verdict', (t) => {
  t.equal(judgeLoss([0.9, 1, 1.1], 0.8), 'holds')
  t.equal(judgeLoss([0.1, 0.8, 0.9], 0.8), 'holds')
  t.equal(judgeLoss([0.6, 0.7, 0.75, 0.7, 0.6], 0.8), 'lost')
  t.equal(
    judgeLoss([0.6, 0.7, 0.9, 0.7, 0.6], 0.8),
    'lost',
    'one round in five does not make it unclear',
  )
  t.equal(judgeLoss([0.6, 0.7, 0.9, 0.7, 1], 0.8), 'unclear')
  t.end()
})
