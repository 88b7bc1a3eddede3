// `pnpm fuzz`: builds what reads bytes and words of others with the tool that gives it bad ones, then does so.
// Only the tool writes to standard output, so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'
import { main } from './workspace.mjs'

await main(() =>
  buildAndRun('@tenure/fuzzer', 'apps/fuzzer/dist/src/main.js', process.argv.slice(2)),
)
