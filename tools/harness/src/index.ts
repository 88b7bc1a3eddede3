export {
  type OptionTypes,
  parseAmount,
  parseOptions,
  parseWhole,
  readCommandLine,
  readOptions,
  runStoppableTool,
  runTool,
  type Typed,
  UsageError,
} from './command-line.js'
export { Latencies, median, type Spread, spreadOf } from './figures.js'
export { describeMachine, type Machine, machineLine } from './machine.js'
export {
  askScript,
  exitOnSignals,
  programOf,
  ScriptProcess,
  scratchDirectory,
} from './processes.js'
export { Progress, type ProgressOutput, tellStep } from './progress.js'
export { drawTable } from './table.js'
export { addCounts, type Counts, groupBy, sumOfCounts } from './tally.js'
export { describeError, type Holds, holds, Violation } from './violation.js'
