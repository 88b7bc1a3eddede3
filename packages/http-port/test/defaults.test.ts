import { readFileSync } from 'node:fs'
import { documentedDefaults } from '@tenure/testing'
import t from 'tap'
import { defaultHttpPortLimits } from '../src/index.js'

t.test('the defaults are those of the README', (t) => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  t.strictSame(Object.fromEntries(documentedDefaults(readme)), { ...defaultHttpPortLimits })
  t.end()
})
