import t from 'tap'
import { QueuesAsked } from '../src/polls/queues-asked.js'

t.test('it is known when a queue was named last', (t) => {
  const asked = new QueuesAsked()
  asked.note(['a', 'b'], 10)
  asked.note(['b', 'b'], 20)
  t.strictSame([asked.lastAt('a'), asked.lastAt('b'), asked.lastAt('c')], [10, 20, undefined])
  t.end()
})

t.test('of very many queues those that were named last are known', (t) => {
  const asked = new QueuesAsked(2)
  asked.note(['a'], 1)
  asked.note(['b'], 2)
  asked.note(['a'], 3)
  asked.note(['c'], 4)
  t.strictSame([asked.lastAt('a'), asked.lastAt('b'), asked.lastAt('c')], [3, undefined, 4])
  const usual = new QueuesAsked()
  for (let queue = 0; queue <= 10_000; queue++) usual.note([`${queue}`], 1)
  t.strictSame([usual.lastAt('0'), usual.lastAt('1'), usual.lastAt('10000')], [undefined, 1, 1])
  t.end()
})
