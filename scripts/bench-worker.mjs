// `pnpm bench:worker`: what a worker process does in a second. Only the benchmark writes to standard
// output, so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/bench', 'tools/bench/dist/src/worker.js')
