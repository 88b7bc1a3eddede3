import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parseCommandLine } from '../src/options.js'
import { fullScopes, quickScopes } from '../src/scope.js'

const program = fileURLToPath(new URL('../src/main.js', import.meta.url))

function run(...args: string[]) {
  const { status, stdout } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' })
  return { status, stdout }
}

t.test('within narrow bounds everything that can happen holds', async (t) => {
  const { status, stdout } = run('--quick', '--json')
  const summary = JSON.parse(stdout)
  t.equal(status, 0)
  t.match(summary, { violations: 0, complete: true })
  t.ok(summary.states > 10_000, `${summary.states} states`)
  t.ok(summary.transitions > summary.states)
})

t.test('it stops when it knows as many states as it was asked for', async (t) => {
  const { status, stdout } = run('--states', '500')
  t.equal(status, 0)
  t.match(stdout, /^ {2}states {8}5\d\d, and there are more$/m)
  t.match(stdout, /^everything holds$/m)
})

t.test('the command line', async (t) => {
  t.same(parseCommandLine([]), { scopes: fullScopes, statesMax: Infinity, json: false })
  t.same(parseCommandLine(['--', '--quick', '--states', '7', '--json']), {
    scopes: quickScopes,
    statesMax: 7,
    json: true,
  })
  t.throws(() => parseCommandLine(['--states', '0']), { message: /^--states is 0; it must be/ })
  t.throws(() => parseCommandLine(['--quik']), { message: /--quik/ })
})
