import { constants, setPriority } from 'node:os'

// The thread steps back before it does anything: to load its code is a tenth of a second of work.
// Linux gives each thread a priority of its own; elsewhere this would be that of the process.
if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL)

await import('./checkpoint-job.js')
