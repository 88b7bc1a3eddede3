// `pnpm bench:soak`: whether memory, disk and latency stay as they are for half an hour. Only the benchmark writes to standard
// output, so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/bench', 'tools/bench/dist/src/soak.js')
