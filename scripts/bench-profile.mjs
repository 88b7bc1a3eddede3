// `pnpm bench:profile`: where the coordinator's time goes. Only the benchmark writes to standard output, so that
// `--json` can be piped.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/bench', 'tools/bench/dist/src/profile.js')
