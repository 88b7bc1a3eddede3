import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { Plot } from '../bugs/plant.js'
import type { NamedTest } from './fault.js'
import { type Line, readTap } from './tap-output.js'

/** How a test file ended, and what it has to say. */
export interface Outcome {
  readonly lines: readonly Line[]
  readonly end: 'passed' | 'failed' | 'timed out'
  readonly output: string
}

/** A machine that is busy gets this much; a fault that makes a test wait for ever takes no more. */
const timeoutS = 120

/** Runs the test file of the copy; given titles, level by level, only the tests that have them. */
export async function runTestFile(
  plot: Plot,
  file: string,
  only: readonly (readonly string[])[] = [],
): Promise<Outcome> {
  const [, dir = '', name = ''] = /^([^/]+\/[^/]+)\/(.*)\.ts$/.exec(file) ?? []
  const child = spawn(process.execPath, [`dist/${name}.js`], {
    cwd: plot.path(dir),
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
  // tap ends a test in time by itself, unless the test does not let it come to its turn.
  const isTimedOut = isLate || lines.some(({ title }) => title === 'timeout!')
  const end = isTimedOut ? 'timed out' : code === 0 ? 'passed' : 'failed'
  return { lines, end, output: `${stdout}${stderr}` }
}

/** The results that the file has for tests of this name: none if there is no such test. */
export function resultsOf(lines: readonly Line[], [, ...titles]: NamedTest): Line[] {
  const depth = titles.length - 1
  return lines.filter((line) => line.depth === depth && line.title === titles[depth])
}

/** For tap: a pattern for each level, and what does not match is skipped. */
function filterOf(levels: readonly (readonly string[])[]): Readonly<Record<string, string>> {
  if (levels.length === 0) return {}
  const literal = (title: string) => title.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  const patternOf = (titles: readonly string[]) => `/^(?:${titles.map(literal).join('|')})$/`
  return { TAP_FILTER_QUIETLY: '1', TAP_GREP: levels.map(patternOf).join('\n') }
}
