import type { ProgressOutput } from '@tenure/harness'
import { CodeCopy } from '../bugs/plant.js'
import type { Fault } from './fault.js'
import { type Trial, tryFault, trySound } from './trial.js'

export interface TrialSummary {
  readonly passed: number
  readonly failed: number
  readonly seconds: number
  readonly trials: readonly Trial[]
}

/** Runs each named test file without a fault, then tries every fault, several concurrently. */
export async function tryAll(
  faults: readonly Fault[],
  threads: number,
  output: ProgressOutput,
): Promise<TrialSummary> {
  const startMs = performance.now()
  const trials: Trial[] = []
  const files = new Set(faults.map(({ test: [file] }) => file))
  const waiting = [
    ...[...files].map((file) => (copy: CodeCopy) => trySound(copy, file, testsIn(faults, file))),
    ...faults.map((fault) => (copy: CodeCopy) => tryFault(copy, fault)),
  ]
  const work = async () => {
    const copy = CodeCopy.copy({ tests: true })
    try {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const trial = await next(copy)
        trials.push(trial)
        output.write(`${describeTrial(trial)}\n`)
      }
    } finally {
      copy.remove()
    }
  }
  await Promise.all(Array.from({ length: threads }, work))
  const passed = trials.filter(({ isPassed }) => isPassed).length
  const seconds = Math.round((performance.now() - startMs) / 100) / 10
  return { passed, failed: trials.length - passed, seconds, trials }
}

export function describeTrials({ passed, failed, seconds, trials }: TrialSummary): string {
  const failures = trials.filter(({ isPassed }) => !isPassed).map(describeTrial)
  return [...failures, `${seconds} s`, '', `${passed} passed, ${failed} failed`].join('\n')
}

function testsIn(faults: readonly Fault[], file: string) {
  return faults.map(({ test }) => test).filter((test) => test[0] === file)
}

function describeTrial({ name, test, isPassed, note, ms }: Trial): string {
  const seconds = `${(ms / 1000).toFixed(1)} s`.padStart(7)
  return `${isPassed ? '    ok' : 'NOT OK'} ${seconds}  ${name}  [${test}]${note && `\n        ${note}`}`
}
