import t from 'tap'
import { lookOf, paint, plain } from '../src/terminal/look.js'
import { countOf, showCount, showRate, showSize } from '../src/terminal/numbers.js'
import { cutTo, widthOf } from '../src/terminal/text.js'
import { showAge, showSpan } from '../src/terminal/times.js'
import { onTerminal } from './facts.js'

const output = { fd: 1, write: () => {} }
const terminal = { ...output, isTTY: true, columns: 132 }

t.test('colours are for terminals, and two variables say otherwise', async (t) => {
  const coloursOf = (output: Parameters<typeof lookOf>[0], env: Record<string, string>) =>
    lookOf(output, env).colours
  t.equal(coloursOf(terminal, {}), true)
  t.equal(coloursOf(output, {}), false)
  t.equal(coloursOf(terminal, { NO_COLOR: '1' }), false)
  t.equal(coloursOf(terminal, { NO_COLOR: '' }), true)
  t.equal(coloursOf(terminal, { TERM: 'dumb' }), false)
  t.equal(coloursOf(output, { FORCE_COLOR: '1' }), true)
  t.equal(coloursOf(terminal, { FORCE_COLOR: '0' }), false)
  t.equal(coloursOf(terminal, { FORCE_COLOR: 'false' }), false)
  t.equal(coloursOf(output, { FORCE_COLOR: '1', NO_COLOR: '1' }), true)
})

t.test('a line is as wide as the terminal, and as a usual one elsewhere', async (t) => {
  t.equal(lookOf(terminal, {}).columns, 132)
  t.equal(lookOf({ ...terminal, columns: 12 }, {}).columns, 40, 'or a table is none')
  t.equal(lookOf({ ...output, isTTY: true }, {}).columns, 100)
  t.equal(lookOf({ ...output, columns: 50 }, {}).columns, 100)
})

t.test('without colours nothing is painted', async (t) => {
  t.equal(paint(plain, 'bad', 'x'), 'x')
  t.equal(paint(onTerminal, undefined, 'x'), 'x')
  t.equal(paint(onTerminal, 'bad', ''), '')
  t.equal(paint(onTerminal, 'bad', 'x'), '\u001b[31mx\u001b[39m')
})

t.test('columns are those of a terminal', async (t) => {
  t.equal(widthOf('請求書'), 6)
  t.equal(widthOf('e\u0301'), 1)
  t.equal(widthOf('👩‍👩‍👧'), 2)
  t.equal(cutTo(6, '請求書'), '請求書')
  t.equal(cutTo(5, '請求書'), '請求…')
  t.equal(cutTo(4, '請求書'), '請…')
  t.equal(cutTo(3, 'abcdef'), 'ab…')
})

t.test('numbers and times have three figures or so', async (t) => {
  t.same([0, 999, 1000, 1_234_567].map(showCount), ['0', '999', '1,000', '1,234,567'])
  t.same(
    [0, 1, 2].map((count) => countOf(count, 'task')),
    ['0 tasks', '1 task', '2 tasks'],
  )
  t.same(
    [showRate(0, 1000), showRate(3, 2000), showRate(30_000, 2000), showRate(1, 0)],
    [...['0/s', '1.5/s', '15,000/s', '0/s']],
  )
  t.same([0, 1023, 1024, 1_500_000, 2 ** 43].map(showSize), [
    ...['0 B', '1023 B', '1.0 KiB', '1.4 MiB', '8.0 TiB'],
  ])
  t.same([0, 999, 1000, 119_999, 120_000, 7_200_000, 172_800_000].map(showSpan), [
    ...['0 ms', '999 ms', '1.0 s', '120.0 s', '2.0 min', '2.0 h', '2.0 d'],
  ])
  t.equal(showAge(5000, 2000), '0 ms ago', 'clocks differ')
})
