// `pnpm sim`: builds the simulator with all that it simulates, then runs it.
// Only the tool writes to standard output, so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'
import { main } from './workspace.mjs'

await main(() =>
  buildAndRun('@tenure/simulator', 'apps/simulator/dist/src/main.js', process.argv.slice(2)),
)
