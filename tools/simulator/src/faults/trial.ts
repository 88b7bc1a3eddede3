import { type Plot, requireFit } from '../bugs/plant.js'
import type { Fault, NamedTest } from './fault.js'
import { type Outcome, resultsOf, runTestFile } from './test-file.js'

/** What came of one fault, or of one test file without any. */
export interface Trial {
  readonly name: string
  readonly test: string
  readonly isPassed: boolean
  /** Why it did not pass, or what else there is to say. */
  readonly note: string
  readonly ms: number
}

/** Code that does not run at all fails every test, and shows nothing about any. */
const isBroken = /\b(?:ReferenceError|SyntaxError): /

/** Plants the fault and runs the test that is named after what it makes false: that test has to fail. */
export async function tryFault(plot: Plot, fault: Fault): Promise<Trial> {
  const [file, ...titles] = fault.test
  const name = `${file}: ${titles.join(': ')}`
  return measured(fault.name, name, async () => {
    const misfit = whyUnfit(fault)
    if (misfit !== undefined) return misfit
    return plot.during(fault, async () => {
      const only = titles.map((title) => [title])
      const why = whyNotKilled(await runTestFile(plot, file, only), fault.test)
      return why === 'it passes' ? `${why}; ${await describeOthers(plot, file)}` : why
    })
  })
}

/** In words, why the fault cannot be planted; the other faults can. */
function whyUnfit(fault: Fault): string | undefined {
  try {
    requireFit(fault)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Runs the tests of the file that faults name without any fault: all of them have to pass. */
export async function trySound(
  plot: Plot,
  file: string,
  tests: readonly NamedTest[],
): Promise<Trial> {
  return measured('no fault', file, async () => {
    const { end, lines, output } = await runTestFile(plot, file, [tests.map((test) => test[1])])
    if (end !== 'passed') return `it ${end} without a fault: ${failedIn(lines) || lastOf(output)}`
    const isThere = (test: NamedTest) => resultsOf(lines, test).some(({ isSkipped }) => !isSkipped)
    const missing = tests.find((test) => !isThere(test))
    return missing && `it has no test, or skips it: ${missing.slice(1).join(': ')}`
  })
}

/** `undefined` when the test has failed as it should. */
export function whyNotKilled({ lines, end, output }: Outcome, test: NamedTest): string | undefined {
  const results = resultsOf(lines, test)
  if (end === 'timed out') return 'it does not end'
  if (isBroken.test(output)) return `the code does not run:\n${lastOf(output)}`
  if (results.length === 0 && end === 'passed') return 'there is no test of that name'
  if (results.length === 0) return `there is no result of it:\n${lastOf(output)}`
  return results.some(({ isOk }) => !isOk) ? undefined : 'it passes'
}

/** Which tests see the fault in place of the one that should. */
async function describeOthers(plot: Plot, file: string): Promise<string> {
  const { lines, end } = await runTestFile(plot, file)
  if (end === 'timed out') return 'the file does not end'
  const failed = failedIn(lines)
  return failed === '' ? 'no other test of the file fails' : `in its place fail: ${failed}`
}

function failedIn(lines: Outcome['lines']): string {
  const failed = lines.filter(({ depth, isOk }) => depth === 0 && !isOk)
  return failed.map(({ title }) => title).join('; ')
}

async function measured(
  name: string,
  test: string,
  run: () => Promise<string | undefined>,
): Promise<Trial> {
  const startMs = performance.now()
  const why = await run()
  const ms = Math.round(performance.now() - startMs)
  return { name, test, isPassed: why === undefined, note: why ?? '', ms }
}

/** Enough to see why. */
function lastOf(output: string): string {
  return output.trimEnd().split('\n').slice(-15).join('\n')
}
