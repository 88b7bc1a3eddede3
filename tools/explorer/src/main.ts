import { runTool } from '@tenure/harness'
import { explore } from './explore.js'
import { shipped } from './machine/subject.js'
import { parseCommandLine, usage } from './options.js'
import type { Search } from './search.js'
import { describeSummary } from './summary.js'

const progressMs = 5000

await runTool(usage, async (args) => {
  const { json, scopes, statesMax } = parseCommandLine(args)
  const summary = await explore({ scopes, statesMax, subject: shipped, onProgress: progress() })
  console.log(json ? JSON.stringify(summary) : describeSummary(summary))
  return summary.violations === 0 ? 0 : 1
})

/** No timer would go off: the search never waits. */
function progress(): (search: Search) => void {
  let nextMs = performance.now() + progressMs
  return ({ states, durableStates, transitions, lsn }) => {
    if (performance.now() < nextMs) return
    nextMs += progressMs
    console.error(
      `${states} states, ${durableStates} of the log, ${transitions} transitions, at LSN ${lsn}`,
    )
  }
}
