import t from 'tap'
import { Stretches } from '../src/soak/stretches.js'

function addMany(stretches: Stretches, count: number, ms: number): void {
  for (let index = 0; index < count; index++) stretches.add('submit', ms)
}

t.test('one checkpoint in a bad minute is one of several, but seen in all', async (t) => {
  const stretches = new Stretches()
  for (const ms of [1, 90, 1]) {
    stretches.begin('checkpoint')
    addMany(stretches, 1000, ms)
    stretches.begin('quiet')
    addMany(stretches, 1000, 1)
  }
  t.equal(stretches.checkpoints, 3)
  const rounded = stretches.p99s('checkpoint', 'submit').map(Math.round)
  t.same(rounded, [1, 90, 1])
  t.ok(stretches.p99('checkpoint', 'submit') > 80)
  t.ok(stretches.p99('quiet', 'submit') < 2)
})

t.test('what has not ended, or was too short, has no figure of its own', async (t) => {
  const stretches = new Stretches()
  stretches.begin('checkpoint')
  addMany(stretches, 10, 1)
  stretches.begin('quiet')
  addMany(stretches, 1000, 1)
  t.same(stretches.p99s('checkpoint', 'submit'), [])
  t.same(stretches.p99s('quiet', 'submit'), [])
})
