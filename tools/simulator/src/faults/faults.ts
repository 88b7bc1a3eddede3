import { answerFaults } from './answer-faults.js'
import { defaultFaults } from './default-faults.js'
import type { Fault } from './fault.js'
import { httpPortFaults } from './http-port-faults.js'
import { logFaults } from './log-faults.js'
import { loopFaults } from './loop-faults.js'
import { metricFaults } from './metric-faults.js'
import { preconditionFaults } from './precondition-faults.js'
import { recycleFaults } from './recycle-faults.js'
import { sharedCopyFaults } from './shared-copy-faults.js'
import { sharedLogFaults } from './shared-log-faults.js'
import { startFaults } from './start-faults.js'
import { stateFaults } from './state-faults.js'
import { submissionFaults } from './submission-faults.js'
import { verdictFaults } from './verdict-faults.js'
import { wireFaults } from './wire-faults.js'
import { workerFaults } from './worker-faults.js'

/** Each fault names the test whose title it makes false. */
export const faults: readonly Fault[] = [
  ...preconditionFaults,
  ...stateFaults,
  ...answerFaults,
  ...submissionFaults,
  ...loopFaults,
  ...startFaults,
  ...verdictFaults,
  ...logFaults,
  ...recycleFaults,
  ...sharedCopyFaults,
  ...sharedLogFaults,
  ...wireFaults,
  ...httpPortFaults,
  ...workerFaults,
  ...metricFaults,
  ...defaultFaults,
]
