import { runTool } from '@tenure/harness'
import { explore } from './explore.js'
import { shipped } from './machine/subject.js'
import { parseCommandLine, usage } from './options.js'
import type { Search } from './search.js'
import { describeSummary } from './summary.js'

const progressMs = 5000

await runTool(usage, async (args) => {
  const { json, scopes, duels, statesMax } = parseCommandLine(args)
  const summary = await explore({
    scopes,
    duels,
    statesMax,
    subject: shipped,
    onProgress: progress(),
    onDuelProgress: duelProgress(),
  })
  console.log(json ? JSON.stringify(summary) : describeSummary(summary))
  return summary.violations === 0 ? 0 : 1
})

/** Called by the search itself: it never yields, so no timer would fire. */
function progress(): (search: Search) => void {
  let nextMs = performance.now() + progressMs
  return ({ states, durableStates, transitions, lsn }) => {
    if (performance.now() < nextMs) return
    nextMs += progressMs
    console.error(
      `${states} states, ${durableStates} log states, ${transitions} transitions, at LSN ${lsn}`,
    )
  }
}

function duelProgress(): (states: number) => void {
  let nextMs = performance.now() + progressMs
  return (states) => {
    if (performance.now() < nextMs) return
    nextMs += progressMs
    console.error(`${states} states of two coordinators`)
  }
}
