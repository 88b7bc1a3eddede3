// `pnpm bench:history`: how long an explanation takes, from a long log and from memory. Only the
// benchmark writes to standard output, so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/bench', 'tools/bench/dist/src/history.js')
