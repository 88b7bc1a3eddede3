// `pnpm bench:soak`: whether memory, disk and latency stay as they are for half an hour. Only the benchmark writes to standard
// output, so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'
import { main } from './workspace.mjs'

await main(() => buildAndRun('@tenure/bench', 'apps/bench/dist/src/soak.js', process.argv.slice(2)))
