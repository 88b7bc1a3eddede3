import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parseCommandLine } from '../src/options.js'
import { fullScopes, quickScopes } from '../src/scope.js'
import { fullDuels, quickDuels } from '../src/shared/explore-duel.js'

const program = fileURLToPath(new URL('../src/main.js', import.meta.url))

function run(...args: string[]) {
  const { status, stdout } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' })
  return { status, stdout }
}

t.test('all checks hold within narrow bounds', async (t) => {
  const { status, stdout } = run('--quick', '--json')
  const summary = JSON.parse(stdout)
  t.equal(status, 0)
  t.match(summary, { violations: 0, complete: true })
  t.ok(summary.states > 10_000, `${summary.states} states`)
  t.ok(summary.transitions > summary.states)
})

t.test('--states limits the number of states', async (t) => {
  const { status, stdout } = run('--states', '500')
  t.equal(status, 0)
  t.match(stdout, /^ {2}states {8}5\d\d, incomplete$/m)
  t.match(stdout, /^all checks hold$/m)
})

t.test('options are read, and invalid ones are rejected', async (t) => {
  t.same(parseCommandLine([]), {
    scopes: fullScopes,
    duels: fullDuels,
    statesMax: Infinity,
    json: false,
  })
  t.same(parseCommandLine(['--', '--quick', '--states', '7', '--json']), {
    scopes: quickScopes,
    duels: quickDuels,
    statesMax: 7,
    json: true,
  })
  t.throws(() => parseCommandLine(['--states', '0']), { message: /^--states is 0; it must be/ })
  t.throws(() => parseCommandLine(['--quik']), { message: /--quik/ })
})
