import t from 'tap'
import { explore } from '../src/explore.js'
import { shipped } from '../src/machine/subject.js'
import { quickScopes, type Scope } from '../src/scope.js'
import { forgetfulStarts, plant, plants } from './plants.js'

/** Deep enough for a late report on an expired task, narrow enough to take a second. */
const narrow: Scope = {
  ...quickScopes[0]!,
  name: 'narrow',
  tasks: 1,
  recordsMax: 5,
  requestsInFlight: 1,
  pollMs: 0,
}

t.test('the code without a plant has no fault within the same bounds', async (t) => {
  const { violations, complete } = await explore({ scopes: [narrow], duels: [], subject: shipped })
  t.same({ violations, complete }, { violations: 0, complete: true })
})

for (const it of plants) {
  t.test(`${it.name} is found, with a path to it`, async (t) => {
    const { requestsInFlight = 1, pollMs = 0, mayFill = false } = it
    const pollsUntilLsn = narrow.recordsMax
    const scope = { ...narrow, requestsInFlight, pollMs, pollsUntilLsn, mayFill }
    const subject = await plant(it, (remove) => t.teardown(remove))
    const { violation } = await explore({ scopes: [scope], duels: [], subject })
    t.match(violation?.rule, it.rule)
    t.match(violation?.path[0], 'the coordinator starts with an empty log')
  })
}

t.test('the path to a fault is the shortest one', async (t) => {
  const resurrection = plants.find(({ name }) => name.startsWith('a heartbeat that resurrects'))!
  const subject = await plant(resurrection, (remove) => t.teardown(remove))
  const { violation } = await explore({ scopes: [narrow], duels: [], subject })
  t.same(violation?.path, [
    'the coordinator starts with an empty log',
    'client submits payload 1 under request_id a',
    'the batch goes to the disk',
    'the batch is durable',
    'w1 asks for a task',
    'a millisecond passes',
    'a millisecond passes',
    'the batch goes to the disk',
    'the batch is durable',
    'w1 sends a heartbeat for task 1 under lease 2',
  ])
})

for (const [name, recover] of Object.entries(forgetfulStarts)) {
  t.test(`${name} is found`, async (t) => {
    const { violation } = await explore({
      scopes: [narrow],
      duels: [],
      subject: { ...shipped, recover },
    })
    t.equal(violation?.rule, 'a replay gives the same state')
  })
}
