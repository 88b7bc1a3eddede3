// Runs the tests of every package (or of those that `--filter` names) through turbo,
// then closes with one plain line for all of them: "N passed, N failed".
//
// What did not run counts as failed: a package that did not build, a package whose test run left no
// closing count, a test file without a test. So "0 failed" and exit code 0 mean the same.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from './workspace.mjs'

const turboBin = createRequire(import.meta.url).resolve('turbo/bin/turbo')
/** tap passes a file that ends before its first test as skipped; nobody meant to skip it. */
const emptyFile = /^ok \d+ - .* # SKIP no tests found$/gm
const notOk = new RegExp(`^ *not ok .*$|${emptyFile.source}`, 'gm')
const started = performance.now()

console.log(`Node ${process.version}`)
const dirs = packagesToTest()
for (const dir of dirs) rmSync(logOf(dir), { force: true })
const { status } = turbo('inherit', '--continue=dependencies-successful')

console.log('')
let passed = 0
let failed = 0
for (const dir of dirs) {
  const log = existsSync(logOf(dir)) ? readFileSync(logOf(dir), 'utf8') : ''
  const outcome = outcomeOf(log)
  passed += outcome.passed
  failed += outcome.failed
  for (const line of log.match(notOk) ?? []) console.log(`${dir}  ${line}`)
  console.log(`${dir.padEnd(28)} ${outcome.text}`)
}
if (status !== 0 && failed === 0) {
  console.log(`No test failed, but turbo ended with ${status}: see above.`)
  failed = 1
}
console.log(`${((performance.now() - started) / 1000).toFixed(1)} s`)
close()

/** The folders of the packages that have tests and were asked for. */
function packagesToTest() {
  const plan = turbo(['ignore', 'pipe', 'inherit'], '--dry=json')
  if (plan.status !== 0) {
    console.log(`turbo could not plan the run: it ended with ${plan.status}.`)
    failBeforeStart()
  }
  /** @type {{ tasks: Array<{ task: string, command: string, directory: string }> }} */
  const { tasks } = JSON.parse(plan.stdout)
  const found = tasks
    .filter(({ task, command }) => task === 'test' && command !== '<NONEXISTENT>')
    .map(({ directory }) => directory.replaceAll('\\', '/'))
    .sort()
  if (found.length === 0) {
    console.log('No package with tests was asked for.')
    failBeforeStart()
  }
  return found
}

/**
 * What tap counted, from the last line of its kind in the package's log.
 * @param {string} log
 */
function outcomeOf(log) {
  const summary = [...log.matchAll(/^# \{ total: .*\}$/gm)].at(-1)?.[0]
  if (summary === undefined) return { passed: 0, failed: 1, text: 'did not run to its end' }
  /** @param {string} key */
  const count = (key) => Number(summary.match(new RegExp(`\\b${key}: (\\d+)`))?.[1] ?? 0)
  const empty = log.match(emptyFile)?.length ?? 0
  const [pass, fail] = [count('pass'), count('fail') + empty]
  const [skip, todo] = [count('skip') - empty, count('todo')]
  const rest = [skip > 0 ? `, ${skip} skipped` : '', todo > 0 ? `, ${todo} todo` : ''].join('')
  return { passed: pass, failed: fail, text: `${pass} passed, ${fail} failed${rest}` }
}

/**
 * @param {import('node:child_process').StdioOptions} stdio
 * @param {string[]} args
 */
function turbo(stdio, ...args) {
  const command = [turboBin, 'run', 'test', ...args, ...process.argv.slice(2)]
  const env = { ...process.env, TURBO_TELEMETRY_DISABLED: '1' }
  const result = spawnSync(process.execPath, command, {
    cwd: root,
    stdio,
    env,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (result.error) throw result.error
  return result
}

/** @param {string} dir every run leaves tap's output there */
function logOf(dir) {
  return join(root, dir, '.turbo', 'turbo-test.log')
}

function failBeforeStart() {
  console.log('\n0 passed, 1 failed')
  process.exit(1)
}

function close() {
  console.log(`\n${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}
