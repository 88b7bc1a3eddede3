/**
 * Runs one measurement in its own process and heap. Prints one line of JSON.
 *
 *     node --expose-gc child.js apply|scale|memory|memory-ids|survivors|gc full|quick
 */
import { paceOf } from './pace.js'
import type { Result } from './result.js'

const [name = '', speed = ''] = process.argv.slice(2)
const pace = paceOf({ quick: speed === 'quick' })

const results = await measure()
process.stdout.write(`${JSON.stringify(results)}\n`)

/** Imports are dynamic, so that one measurement does not use memory in another. */
async function measure(): Promise<Result[]> {
  switch (name) {
    case 'apply':
      return (await import('./apply-case.js')).measureApply(pace)
    case 'scale':
      return (await import('./scale-case.js')).measureScale(pace)
    case 'memory':
      return (await import('./memory-case.js')).measureMemory(0)
    case 'memory-ids':
      return (await import('./memory-case.js')).measureMemory(1)
    case 'survivors':
      return (await import('./memory-case.js')).measureSurvivors()
    case 'gc':
      return (await import('./gc-case.js')).measureGc(pace)
    default:
      throw new Error(`"${name}" is not a known measurement`)
  }
}
