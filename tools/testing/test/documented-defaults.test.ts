import t from 'tap'
import { documentedDefaults } from '../src/index.js'

t.test('defaults are read from tables, with their types', (t) => {
  const markdown = `
| option | default | |
|---|---|---|
| \`count\` | 10,000 | how many |
| \`bytes\` | 1 MiB | the most |
| \`ms\` | 30 s, and no longer | text behind it |
| \`share\` | 0.01 | a part |
| \`word\` | \`thread\` | a word |
| \`text\` | \`"always"\` | a text |
| \`flag\` | \`false\` | a truth |
| \`backoff\` | \`{ initialMs: 50, kind: 'fixed' }\` | an object |
| \`none\` | – | nothing |
| \`one\`, \`two\` | 1, 2 | not told apart |

| code | what happened |
|---|---|
| \`other\` | 5 |
`
  t.strictSame(Object.fromEntries(documentedDefaults(markdown)), {
    count: 10_000,
    bytes: 2 ** 20,
    ms: 30_000,
    share: 0.01,
    word: 'thread',
    text: 'always',
    flag: false,
    backoff: { initialMs: 50, kind: 'fixed' },
    none: '–',
  })
  t.end()
})
