// `pnpm bench:guard`: whether the coordinator has become slower since it was recorded. Only the benchmark writes to standard output,
// so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'
import { main } from './workspace.mjs'

await main(() =>
  buildAndRun('@tenure/bench', 'apps/bench/dist/src/guard.js', process.argv.slice(2)),
)
