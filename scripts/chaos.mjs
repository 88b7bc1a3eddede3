// `pnpm chaos`: builds the system with the tool that runs it under faults, then does so.
// Only the tool writes to standard output, so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/chaos', 'tools/chaos/dist/src/main.js')
