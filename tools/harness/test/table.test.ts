import t from 'tap'
import { drawTable } from '../src/index.js'

t.test('columns fit their cells and are aligned left or right', (t) => {
  const rows = [
    ['case', 'median', 'target'],
    ['life', '7', '>= 5'],
    ['a', '1,000', ''],
  ]
  t.equal(
    drawTable(rows, { align: 'lrl', indent: '  ' }),
    '  case  median  target\n  life       7  >= 5\n  a      1,000',
  )
  t.equal(drawTable(rows), 'case  median  target\nlife       7    >= 5\na      1,000')
  t.end()
})
