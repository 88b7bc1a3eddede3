import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { openLog, verifyLog } from '../src/index.js'

const program = fileURLToPath(new URL('fixtures/without-descriptors.js', import.meta.url))
const isLinux = process.platform === 'linux'

t.test(
  'a log goes on over several segments where no descriptor is left',
  {
    skip: !isLinux && 'only Linux has these limits',
  },
  async (t) => {
    const directory = join(t.testdir(), 'log')
    // tap's own loader must not run in the child.
    const { NODE_OPTIONS: _, ...env } = process.env
    const line = 'ulimit -n 64; exec "$0" "$@"'
    const args = ['-c', line, process.execPath, program, directory]
    const { stdout } = await promisify(execFile)('/bin/sh', args, { env })
    const { durableLsn, taken, list } = JSON.parse(stdout)
    t.ok(taken > 20, 'it had taken what there was')
    t.ok(list)
    const { damage, lastLsn } = await verifyLog(directory)
    t.match({ damage, lastLsn }, { damage: undefined, lastLsn: durableLsn })
  },
)

t.test(
  'what a log holds open beside its files is given back when it is closed',
  {
    skip: !isLinux && 'only Linux lists descriptors',
  },
  async (t) => {
    const descriptors = () => readdirSync('/proc/self/fd').length
    const before = descriptors()
    const directory = t.testdir()
    const logs = await Promise.all([0, 1].map((n) => openLog(join(directory, `log${n}`))))
    const opened = descriptors() - before
    t.ok(opened < 20, `${opened} for two logs`)
    await logs[0]?.append(1, new Uint8Array(1))
    await logs[0]?.close()
    t.ok(descriptors() > before)
    await logs[1]?.close()
    t.equal(descriptors(), before)
  },
)
