/**
 * One measurement in a process of its own, with the heap to itself. Answers with one line of JSON.
 *
 *     node --expose-gc child.js apply|scale|memory|memory-ids|survivors|gc full|quick
 */
import { paceOf } from './pace.js'
import type { Result } from './result.js'

const [name = '', speed = ''] = process.argv.slice(2)
const pace = paceOf({ quick: speed === 'quick' })

const results = await measure()
process.stdout.write(`${JSON.stringify(results)}\n`)

/** Nothing is imported before it is needed: what one measures does not show in another's memory. */
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
      throw new Error(`there is no measurement "${name}"`)
  }
}
