import type { Bug } from './bug.js'
import { decisionBugs } from './decision-bugs.js'
import { logBugs } from './log-bugs.js'
import { peerBugs } from './peer-bugs.js'

/** All of them. Each must be found, else the simulator does not see what it is there to see. */
export const bugs: readonly Bug[] = [...logBugs, ...decisionBugs, ...peerBugs]
