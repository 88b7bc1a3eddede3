import { readFileSync } from 'node:fs'
import { documentedDefaults } from '@tenure/testing'
import t from 'tap'
import { settle } from '../src/options/options.js'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

t.test('the defaults are those of the README, and it tells every one', (t) => {
  const { dataDir, host, port, httpHost, httpPort, diskLowBytes, ...parts } = settle({})
  const { knobs, checkpoints, limits } = parts
  const under = (path: string, values: object) =>
    Object.entries(values).map(([name, value]) => [`${path}.${name}`, value])
  t.strictSame(Object.fromEntries(documentedDefaults(readme)), {
    ...{ dataDir, host, port, httpHost, httpPort, diskLowBytes, ...limits },
    ...Object.fromEntries([...under('knobs', knobs), ...under('checkpoints', checkpoints)]),
  })
  t.end()
})
