// `pnpm test:faults`: builds the packages with their tests, then plants each known fault in a copy and
// runs the test that is named after what it makes false.
// Only the tool writes to standard output, so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/simulator', 'tools/simulator/dist/src/faults/main.js')
