// `pnpm test:busy`: runs the tests next to one busy loop per core, to find tests that depend on their share of the CPU.
// Run it with `--rounds 10` before each release.
//
// The loops are threads of this process and end with it, even after SIGKILL.
import { spawn } from 'node:child_process'
import { availableParallelism, constants } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { endWithParents } from './parents.mjs'
import { readArguments } from './workspace.mjs'

const usage = 'npx pnpm test:busy [--rounds <number>] [--filter=<package> ...]'
const { rounds: asked = '1', filter = [] } = readArguments(usage, {
  rounds: { type: 'string' },
  filter: { type: 'string', multiple: true, short: 'F' },
})
const rounds = Number(asked)
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`--rounds is ${asked}; it must be a whole number from 1\nUsage: ${usage}`)
  process.exit(2)
}
endWithParents()
const loops = Array.from({ length: availableParallelism() }, () => {
  return new Worker('for (;;);', { eval: true })
})

const outcomes = []
for (let round = 1; round <= rounds; round++) {
  console.log(`\n==== round ${round} of ${rounds}, next to ${loops.length} busy loops`)
  outcomes.push(await runTests())
}

console.log('')
for (const [index, { passed, failed, seconds, complaints }] of outcomes.entries()) {
  for (const complaint of complaints) console.log(complaint)
  console.log(`round ${index + 1}: ${passed} passed, ${failed} failed, ${seconds.toFixed(0)} s`)
}
const clean = outcomes.filter(({ failed }) => failed === 0).length
console.log(`${clean} of ${rounds} rounds without a failure, next to ${loops.length} busy loops`)
const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0)
const failed = outcomes.reduce((sum, outcome) => sum + outcome.failed, 0)
console.log(`\n${passed} passed, ${failed} failed`)
process.exit(failed === 0 ? 0 : 1)

/**
 * @typedef {object} Outcome
 * @property {number} passed
 * @property {number} failed
 * @property {number} seconds
 * @property {string[]} complaints
 */

/** @returns {Promise<Outcome>} */
async function runTests() {
  const started = performance.now()
  const filters = filter.map((name) => `--filter=${name}`)
  // In its own process group, so that all of it can be killed.
  const child = spawn(process.execPath, [join(import.meta.dirname, 'test.mjs'), ...filters], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.removeAllListeners(signal).once(signal, () => {
      const isRunning = child.exitCode === null && child.signalCode === null
      if (isRunning && child.pid !== undefined) process.kill(-child.pid, signal)
      process.exit(128 + constants.signals[signal])
    })
  }
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said += text
    process.stdout.write(text)
  })
  await new Promise((resolve) => child.on('close', resolve))
  const seconds = (performance.now() - started) / 1000
  // A run without a final count is one failure.
  const [, passed = 0, failed = 1] = /^(\d+) passed, (\d+) failed\n$/m.exec(said) ?? []
  const complaints = said.match(/^(apps|packages)\/\S+ +not ok .*$/gm) ?? []
  return { passed: Number(passed), failed: Number(failed), seconds, complaints }
}
