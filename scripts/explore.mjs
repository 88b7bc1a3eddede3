// `pnpm explore`: builds the explorer with what it explores, then visits every state there is.
// Only the explorer writes to standard output, so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/explorer', 'tools/explorer/dist/src/main.js')
