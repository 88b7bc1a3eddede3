import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cleanEnvironment } from '@tenure/testing'
import t from 'tap'
import { readFinding } from '../src/campaign/finding-files.js'

const program = fileURLToPath(new URL('./fixtures/hanging.js', import.meta.url))

for (const how of ['loop', 'expression', 'promise']) {
  t.test(`an input that never finishes (${how}) is found, saved and reported`, async (t) => {
    const directory = t.testdir()
    const { status, stderr } = spawnSync(process.execPath, [program, directory, how], {
      env: cleanEnvironment(process.env),
      encoding: 'utf8',
    })
    t.equal(status, 1)
    const [, path = ''] = /^ {2}pnpm fuzz --replay (\S+)$/m.exec(stderr) ?? []
    t.match(stderr, /^FOUND in hanging: violated: every input finishes in time$/m)
    const { target, check, input } = readFinding(resolve(path))
    t.same({ target, check }, { target: 'hanging', check: 'every input finishes in time' })
    t.same(input, [
      { kind: 'word', text: 'ü', at: 3 },
      { kind: 'bytes', bytes: Buffer.alloc(300_000, 7) },
    ])
  })
}
