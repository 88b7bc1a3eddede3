import { type CodeCopy, requireFit } from '../bugs/plant.js'
import type { Fault, NamedTest } from './fault.js'
import { type Outcome, resultsOf, runTestFile } from './test-file.js'

/** The result of one fault, or of one test file without a fault. */
export interface Trial {
  readonly name: string
  readonly test: string
  readonly isPassed: boolean
  /** Why it did not pass, or a further remark. */
  readonly note: string
  readonly ms: number
}

/** Code that does not run fails every test, and proves nothing about any of them. */
const isBroken = /\b(?:ReferenceError|SyntaxError): /

/** Plants the fault and runs the test that it names: that test has to fail. */
export async function tryFault(copy: CodeCopy, fault: Fault): Promise<Trial> {
  const [file, ...titles] = fault.test
  const name = `${file}: ${titles.join(': ')}`
  return measured(fault.name, name, async () => {
    const misfit = whyUnfit(fault)
    if (misfit !== undefined) return misfit
    return copy.during(fault, async () => {
      const only = titles.map((title) => [title])
      const why = whyNotKilled(await runTestFile(copy, file, only), fault.test)
      return why === 'the test passes' ? `${why}; ${await describeOthers(copy, file)}` : why
    })
  })
}

/** Explains why the fault cannot be planted, so that the other faults can still be tried. */
function whyUnfit(fault: Fault): string | undefined {
  try {
    requireFit(fault)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Runs the tests named by faults without a fault: all of them have to pass. */
export async function trySound(
  copy: CodeCopy,
  file: string,
  tests: readonly NamedTest[],
): Promise<Trial> {
  return measured('no fault', file, async () => {
    const { end, lines, output } = await runTestFile(copy, file, [tests.map((test) => test[1])])
    if (end !== 'passed')
      return `the file ${end} without a fault: ${failedIn(lines) || lastOf(output)}`
    const isThere = (test: NamedTest) => resultsOf(lines, test).some(({ isSkipped }) => !isSkipped)
    const missing = tests.find((test) => !isThere(test))
    return missing && `the file lacks or skips the test: ${missing.slice(1).join(': ')}`
  })
}

/** `undefined` when the test has failed as it should. */
export function whyNotKilled({ lines, end, output }: Outcome, test: NamedTest): string | undefined {
  const results = resultsOf(lines, test)
  if (end === 'timed out') return 'the test does not end'
  if (isBroken.test(output)) return `the code does not run:\n${lastOf(output)}`
  if (results.length === 0 && end === 'passed') return 'there is no test of that name'
  if (results.length === 0) return `the test printed no result:\n${lastOf(output)}`
  return results.some(({ isOk }) => !isOk) ? undefined : 'the test passes'
}

/** Names the other tests that fail because of the fault. */
async function describeOthers(copy: CodeCopy, file: string): Promise<string> {
  const { lines, end } = await runTestFile(copy, file)
  if (end === 'timed out') return 'the file does not end'
  const failed = failedIn(lines)
  return failed === '' ? 'no other test of the file fails' : `other tests fail: ${failed}`
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

/** The last lines, which are enough to see the reason. */
function lastOf(output: string): string {
  return output.trimEnd().split('\n').slice(-15).join('\n')
}
