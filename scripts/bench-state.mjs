// `pnpm bench:state`: builds @tenure/state-machine with what it depends on, then measures it.
// Only the benchmark writes to standard output, so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/state-machine', 'packages/state-machine/dist/bench/main.js')
