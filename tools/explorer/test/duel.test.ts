import { Replica } from '@tenure/coordinator-server/internal'
import type { SharedLog } from '@tenure/shared-log'
import t from 'tap'
import { type Budget, type DuelSubject, shippedDuel } from '../src/shared/duel.js'
import { exploreDuel } from '../src/shared/explore-duel.js'

const budget: Budget = {
  submissions: 2,
  questions: 1,
  losses: 2,
  late: 0,
  restarts: 0,
  ticks: 6,
}

/** Answers questions from its state, without asking the shared log. */
class Hasty extends Replica {
  override confirm(): Promise<number> {
    return Promise.resolve(0)
  }
}

/** The shared log with another append. */
function withAppend(
  append: (
    shared: SharedLog,
    ...args: Parameters<SharedLog['append']>
  ) => ReturnType<SharedLog['append']>,
): DuelSubject['see'] {
  return (shared) => ({
    range: () => shared.range(),
    follow: (after, signal) => shared.follow(after, signal),
    append: (...args) => append(shared, ...args),
    truncate: (through) => shared.truncate(through),
    checkpoints: shared.checkpoints,
    close: () => shared.close(),
  })
}

const plants: { readonly [name: string]: [subject: DuelSubject, rule: RegExp] } = {
  'a question is answered without a confirmation': [
    { ...shippedDuel, replica: Hasty },
    /^an answer knows everything acknowledged before it$/,
  ],
  'an entry at its place counts as its own': [
    {
      ...shippedDuel,
      see: withAppend((shared, after, entry) => shared.append(after, entry, () => true)),
    },
    /^a copy is a prefix of the shared log$/,
  ],
}

for (const [name, [subject, rule]] of Object.entries(plants)) {
  t.test(`a planted bug is found: ${name}`, async (t) => {
    const { violation } = await exploreDuel({ name, budget }, { subject, statesMax: 30_000 })
    t.match(violation?.rule, rule)
    t.comment(`${violation?.rule}: ${violation?.found}; ${violation?.path.join(', ')}`)
  })
}

t.test('the same bounds are clean without a bug, as far as they are visited', async (t) => {
  const { violation, states } = await exploreDuel({ name: 'clean', budget }, { statesMax: 3000 })
  t.equal(violation, undefined)
  t.equal(states, 3000)
})
