// Builds with turbo and runs the tests of every package (or of those that `--filter` names). The last line is
// "N passed, N failed".
//
// A compiled test file is a program that writes TAP. It runs without tap's runner: the loaders that the runner adds to
// every process (TypeScript, mocks) double the CPU time. A few files of a package share a process, since loading tap
// and the package takes longer than most files. All processes are in one queue, the longest first, to keep all cores
// busy until the end.
//
// Tests that did not run count as failed: a package that did not build, a test file without a final count or without a
// test. So "0 failed" and exit code 0 mean the same.
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { bySource } from './by-source.mjs'
import { readArguments, root, toolPath } from './workspace.mjs'

const { filter = [] } = readArguments('npx pnpm test [--filter=<package> ...]', {
  filter: { type: 'string', multiple: true, short: 'F' },
})

const turboBin = createRequire(import.meta.url).resolve('turbo/bin/turbo')
/** More than the number of cores, because most files wait half of their time. */
const jobs = availableParallelism() + 2
/** A large young generation: most objects of tests live briefly. */
const moreMemory = ['--min-semi-space-size=16', '--max-semi-space-size=32']
/** Timeout of a file that requests no other; several times the duration of the slowest file next to busy loops. */
const timeoutS = 600
/** Files of a package that share a process: more would leave too few processes for all cores at the end. */
const filesTogether = 6
/** The first words of a file that needs a process of its own: one that awaits or tears down outside of its tests. */
const aloneMark = '// Runs alone: '
/** The durations of the last run by batch, which only determine the order. */
const testFilesPath = join(import.meta.dirname, 'test-files.mjs')
const timesPath = join(root, '.turbo', 'test-times.json')
const started = performance.now()

console.log(`Node ${process.version}`)
const isBuilt = turbo('inherit', 'build', '--continue=dependencies-successful').status === 0
const packages = packagesToTest()
const batches = packages.filter(({ isReady }) => isReady).flatMap(({ dir }) => batchesOf(dir))
const times = readTimes()
const outcomes = await runAll(batches.sort((a, b) => timeOf(b) - timeOf(a)))
writeTimes()

console.log('')
let passed = 0
let failed = 0
for (const { dir, isReady } of packages) {
  const own = outcomes.filter((outcome) => outcome.dir === dir)
  const counts = { pass: 0, fail: isReady ? 0 : 1, skip: 0, todo: 0 }
  for (const outcome of own) {
    for (const line of outcome.complaints) console.log(`${dir}  ${line}`)
    for (const key of /** @type {const} */ (['pass', 'fail', 'skip', 'todo'])) {
      counts[key] += outcome.counts[key]
    }
  }
  passed += counts.pass
  failed += counts.fail
  const rest = ['skip', 'todo'].map((key) =>
    tell(counts[/** @type {'skip' | 'todo'} */ (key)], key),
  )
  const text = `${counts.pass} passed, ${counts.fail} failed${rest.join('')}`
  console.log(`${dir.padEnd(28)} ${isReady ? text : 'did not build'}`)
}
if (!isBuilt && failed === 0) {
  console.log('No test failed, but the build did; see above.')
  failed = 1
}
console.log(`${((performance.now() - started) / 1000).toFixed(1)} s`)
console.log(`\n${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

/** The selected packages with tests, and whether each is built. */
function packagesToTest() {
  const plan = turbo(['ignore', 'pipe', 'inherit'], 'test', '--dry=json')
  if (plan.status !== 0)
    failBeforeStart(`turbo could not plan the run: it exited with ${plan.status}.`)
  /** @type {{ tasks: Array<{ task: string, command: string, directory: string, cache: { status: string } }> }} */
  const { tasks } = JSON.parse(plan.stdout)
  // Successful builds are in turbo's cache; failed ones are not.
  const ready = tasks.filter(({ task, cache }) => task === 'build' && cache.status === 'HIT')
  const isReady = (/** @type {string} */ directory) =>
    isBuilt || ready.some((build) => build.directory === directory)
  const found = tasks
    .filter(({ task, command }) => task === 'test' && command !== '<NONEXISTENT>')
    .map(({ directory }) => ({
      dir: directory.replaceAll('\\', '/'),
      isReady: isReady(directory),
    }))
    .sort((a, b) => (a.dir < b.dir ? -1 : 1))
  if (found.length === 0) failBeforeStart('No selected package has tests.')
  return found
}

/**
 * @typedef {object} Batch
 * @property {string} dir folder of the package
 * @property {string[]} names paths below the folder
 */

/**
 * @param {string} dir
 * @returns {Batch[]}
 */
function batchesOf(dir) {
  const names = readdirSync(join(root, dir, 'dist/test'), { recursive: true, encoding: 'utf8' })
    .map((name) => `dist/test/${name.replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.test.js') && !name.includes('/fixtures/'))
    .sort()
  const sourceOf = (/** @type {string} */ name) =>
    join(root, dir, name.replace(/^dist\//, '').replace(/\.js$/, '.ts'))
  const isAlone = (/** @type {string} */ name) =>
    readFileSync(sourceOf(name), 'utf8').startsWith(aloneMark)
  const together = names.filter((name) => !isAlone(name))
  const batches = names.filter(isAlone).map((name) => ({ dir, names: [name] }))
  while (together.length > 0) batches.push({ dir, names: together.splice(0, filesTogether) })
  return batches
}

/**
 * @typedef {object} Outcome
 * @property {string} dir
 * @property {{ pass: number, fail: number, skip: number, todo: number }} counts
 * @property {string[]} complaints
 */

/**
 * @param {Batch[]} waiting
 * @returns {Promise<Outcome[]>}
 */
async function runAll(waiting) {
  /** @type {Outcome[]} */
  const outcomes = []
  const runNext = async () => {
    for (let batch = waiting.shift(); batch !== undefined; batch = waiting.shift()) {
      outcomes.push(await runBatch(batch))
    }
  }
  await Promise.all(Array.from({ length: jobs }, runNext))
  return outcomes
}

/**
 * Runs test files in one process and shows its output if a test fails.
 * @param {Batch} batch
 * @returns {Promise<Outcome>}
 */
async function runBatch({ dir, names }) {
  const name = names.join(' ')
  const startedMs = performance.now()
  const { stdout, stderr, end } = await execute(join(root, dir), names)
  times[keyOf({ dir, names })] = Math.round(performance.now() - startedMs)
  const counts = countsIn(stdout)
  // A process that ends before its first test has failed. tap only warns of a test that it leaves out because the root
  // has ended, as a teardown outside of all tests makes it do.
  const isCutShort = stderr.includes('cannot create subtest after parent test ends')
  const hasRun = counts.pass + counts.skip + counts.todo > 0
  const isWhole = end === 'ended with 0' && hasRun && !isCutShort
  /** @type {string[]} */
  const complaints = stdout.match(/^ *not ok (?!.*# TODO).*$/gm) ?? []
  if (!isWhole && counts.fail === 0) {
    counts.fail = 1
    const why = hasRun ? end : 'printed no final count of tests'
    complaints.push(`not ok - ${name} ${isCutShort ? `left out a test; see "${aloneMark}"` : why}`)
  }
  if (counts.fail > 0) {
    const said = bySource(`${stdout}${stderr}`, join(root, dir))
    console.log(`\n${dir}/${name} ${end}\n${said}`)
  }
  return { dir, counts, complaints }
}

/**
 * @param {string} cwd
 * @param {string[]} names
 * @returns {Promise<{ stdout: string, stderr: string, end: string }>}
 */
function execute(cwd, names) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...moreMemory, testFilesPath, ...names], {
      cwd,
      env: { ...process.env, TAP_TIMEOUT: String(timeoutS) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    const said = { stdout: '', stderr: '' }
    for (const name of /** @type {const} */ (['stdout', 'stderr'])) {
      child[name]?.setEncoding('utf8').on('data', (text) => {
        said[name] += text
      })
    }
    // tap has its own timeout, but a file may block the event loop.
    const kill = () => child.kill('SIGKILL')
    let guard = setTimeout(kill, 2 * timeoutS * 1000)
    child.on('message', (message) => {
      if (typeof message !== 'object' || message === null || !('setTimeout' in message)) return
      clearTimeout(guard)
      const asked = Number(message.setTimeout)
      if (asked > 0) guard = setTimeout(kill, asked + timeoutS * 1000)
    })
    child.on('close', (code, signal) => {
      clearTimeout(guard)
      resolve({ ...said, end: `ended with ${signal ?? code}` })
    })
  })
}

/**
 * The counts in tap's last summary line.
 * @param {string} stdout
 */
function countsIn(stdout) {
  const summary = [...stdout.matchAll(/^# \{ total: .*\}$/gm)].at(-1)?.[0] ?? ''
  /** @param {string} key */
  const count = (key) => Number(summary.match(new RegExp(`\\b${key}: (\\d+)`))?.[1] ?? 0)
  return { pass: count('pass'), fail: count('fail'), skip: count('skip'), todo: count('todo') }
}

/**
 * @param {number} count
 * @param {string} key
 */
function tell(count, key) {
  return count > 0 ? `, ${count} ${key === 'skip' ? 'skipped' : key}` : ''
}

/**
 * Unknown batches run first, since they may be slow.
 * @param {Batch} batch
 */
function timeOf(batch) {
  return times[keyOf(batch)] ?? Number.POSITIVE_INFINITY
}

/** @param {Batch} batch */
function keyOf({ dir, names }) {
  return `${dir}/${names.join(' ')}`
}

/** @returns {Record<string, number>} */
function readTimes() {
  try {
    return JSON.parse(readFileSync(timesPath, 'utf8'))
  } catch {
    return {}
  }
}

function writeTimes() {
  mkdirSync(dirname(timesPath), { recursive: true })
  writeFileSync(timesPath, JSON.stringify(times))
}

/**
 * @param {import('node:child_process').StdioOptions} stdio
 * @param {string} task
 * @param {string[]} args
 */
function turbo(stdio, task, ...args) {
  const filters = filter.map((name) => `--filter=${name}`)
  const command = [turboBin, 'run', task, ...args, ...filters]
  const env = { ...process.env, PATH: toolPath(), TURBO_TELEMETRY_DISABLED: '1' }
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

/**
 * @param {string} why
 * @returns {never}
 */
function failBeforeStart(why) {
  console.log(`${why}\n\n0 passed, 1 failed`)
  process.exit(1)
}
