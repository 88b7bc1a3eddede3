// `pnpm bench:system`: ours beside its peers, with the same work, in one run. Only the benchmark writes to standard output,
// so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/bench', 'tools/bench/dist/src/system.js')
