// `pnpm bench:guard`: whether the coordinator has become slower since it was recorded. Only the benchmark writes to standard output,
// so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/bench', 'tools/bench/dist/src/guard.js')
