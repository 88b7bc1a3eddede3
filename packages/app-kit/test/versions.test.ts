import { protocolVersion } from '@tenure/protocol'
import t from 'tap'
import { readVersions } from '../src/index.js'

t.test('an app has the version that its manifest says', async (t) => {
  const manifest = new URL('../../package.json', import.meta.url)
  t.match(readVersions(manifest), {
    version: /^\d+\.\d+\.\d+$/,
    protocol: protocolVersion,
    node: process.version,
  })
})
