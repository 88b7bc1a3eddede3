import t from 'tap'
import { plain } from '../src/terminal/look.js'
import { widthOf } from '../src/terminal/text.js'
import { ratesBetween } from '../src/verbs/watch/sample.js'
import { showFrame, showInterval } from '../src/verbs/watch/show.js'
import { Screen } from '../src/verbs/watch/views.js'
import { onTerminal, stats, statsLater, workers } from './facts.js'
import { golden } from './golden.js'

const before = { stats, workers: { workers, leftOut: 0 } }
const after = { stats: statsLater, workers: { workers, leftOut: 0 } }
const rates = ratesBetween(before, after)
const intervalMs = 5000

t.test('rates are what happened in a second, by the clock of the coordinator', async (t) => {
  t.same(rates, {
    submitted: 1200,
    leased: 120,
    completed: 117.8,
    retried: 0,
    failed: 0,
    stopped: 0,
    expired: 0,
  })
  const none = Object.fromEntries(Object.keys(rates).map((name) => [name, 0]))
  t.same(ratesBetween(after, before), none, 'a clock that was set back makes none negative')
  const anew = { stats: { ...statsLater, counters: { ...stats.counters, tasksCreated: 1 } } }
  t.same(ratesBetween(before, anew), none, 'nor does another log')
})

t.test('a frame has rates, states, queues and workers', async (t) => {
  golden(t, 'watch/frame', showFrame({ sample: after, rates, intervalMs }, plain))
  golden(
    t,
    'watch/frame-on-a-terminal',
    showFrame({ sample: after, rates, intervalMs }, onTerminal),
  )
})

t.test('the first frame has no rates yet, and without the role admin no workers', async (t) => {
  golden(t, 'watch/first-frame', showFrame({ sample: { stats }, intervalMs }, plain))
})

t.test('while there is no answer, the last one stays with a word above it', async (t) => {
  const trouble = 'no answer within 2000 ms \u001b[2J'
  golden(t, 'watch/trouble', showFrame({ sample: after, rates, intervalMs, trouble }, plain))
})

t.test('a frame is no higher than the terminal and no wider', async (t) => {
  const frame = { sample: after, rates, intervalMs }
  const low = showFrame(frame, plain, 8)
  golden(t, 'watch/low-frame', low)
  t.equal(low.trimEnd().split('\n').length, 8)
  const lines = showFrame(frame, { columns: 72, colours: false }).split('\n')
  t.same(
    lines.filter((line) => widthOf(line) > 72),
    [],
  )
})

t.test('without a terminal each interval is a line, and heads come now and then', async (t) => {
  const lines =
    showInterval({ sample: after, rates }, true) + showInterval({ sample: after, rates }, false)
  golden(t, 'watch/lines', lines)
  t.same(
    lines.split('\n').filter((line) => widthOf(line) > 100),
    [],
  )
})

t.test('a screen is written over in place, and what was above it stays', async (t) => {
  const written: string[] = []
  const screen = new Screen({ fd: 1, isTTY: true, write: (text) => written.push(String(text)) })
  screen.draw('one\ntwo\nthree\n')
  screen.draw('ONE\n')
  screen.end()
  golden(t, 'watch/screen', written.join(''))
})

t.test('a screen that was never drawn leaves nothing to be cleaned up', async (t) => {
  const written: string[] = []
  new Screen({ fd: 1, write: (text) => written.push(String(text)) }).end()
  t.same(written, [])
})
