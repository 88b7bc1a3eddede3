import { readFileSync } from 'node:fs'
import { documentedDefaults } from '@tenure/testing'
import t from 'tap'
import { settle } from '../src/options.js'

t.test('the defaults are those of the README', (t) => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  const documented = documentedDefaults(readme)
  const { sync, syncIntervalMs, segmentBytes, appendBytesMax } = settle({})
  for (const [name, value] of Object.entries({
    sync,
    syncIntervalMs,
    segmentBytes,
    appendBytesMax,
  })) {
    t.equal(documented.get(name), value, name)
  }
  t.end()
})
