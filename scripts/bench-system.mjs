// `pnpm bench:system`: ours beside its peers, with the same work, in one run. Only the benchmark writes to standard output,
// so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'
import { main } from './workspace.mjs'

await main(() =>
  buildAndRun('@tenure/bench', 'apps/bench/dist/src/system.js', process.argv.slice(2)),
)
