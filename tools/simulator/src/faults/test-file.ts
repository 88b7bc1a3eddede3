import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { CodeCopy } from '../bugs/plant.js'
import type { NamedTest } from './fault.js'
import { readTap, type TapResult } from './tap-output.js'

/** How a test file ended, and its results. */
export interface Outcome {
  readonly lines: readonly TapResult[]
  readonly end: 'passed' | 'failed' | 'timed out'
  readonly output: string
}

/** Enough for a busy machine; it also limits a fault that makes a test wait forever. */
const timeoutS = 120

/** Runs the test file of the copy. Titles, level by level, select the tests to run. */
export async function runTestFile(
  copy: CodeCopy,
  file: string,
  only: readonly (readonly string[])[] = [],
): Promise<Outcome> {
  const [, dir = '', name = ''] = /^([^/]+\/[^/]+)\/(.*)\.ts$/.exec(file) ?? []
  const child = spawn(process.execPath, [`dist/${name}.js`], {
    cwd: copy.path(dir),
    env: {
      ...process.env,
      TENURE_UPDATE_GOLDEN: undefined,
      TAP_TIMEOUT: `${timeoutS}`,
      ...filterOf(only),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let isLate = false
  const guard = setTimeout(
    () => {
      isLate = true
      child.kill('SIGKILL')
    },
    2 * timeoutS * 1000,
  )
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  const code = await ended
  clearTimeout(guard)
  const lines = readTap(stdout)
  // tap times out by itself, unless the test blocks the event loop.
  const isTimedOut = isLate || lines.some(({ title }) => title === 'timeout!')
  const end = isTimedOut ? 'timed out' : code === 0 ? 'passed' : 'failed'
  return { lines, end, output: `${stdout}${stderr}` }
}

/** The results of the tests with this name; empty if there is no such test. */
export function resultsOf(lines: readonly TapResult[], [, ...titles]: NamedTest): TapResult[] {
  const depth = titles.length - 1
  return lines.filter((line) => line.depth === depth && line.title === titles[depth])
}

/** Options for tap: a pattern for each level; other tests are skipped. */
function filterOf(levels: readonly (readonly string[])[]): Readonly<Record<string, string>> {
  if (levels.length === 0) return {}
  const literal = (title: string) => title.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  const patternOf = (titles: readonly string[]) => `/^(?:${titles.map(literal).join('|')})$/`
  return { TAP_FILTER_QUIETLY: '1', TAP_GREP: levels.map(patternOf).join('\n') }
}
