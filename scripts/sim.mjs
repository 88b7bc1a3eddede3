// `pnpm sim`: builds the simulator with all that it simulates, then runs it.
// Only the tool writes to standard output, so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/simulator', 'tools/simulator/dist/src/main.js')
