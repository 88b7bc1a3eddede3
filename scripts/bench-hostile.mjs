// `pnpm bench:hostile`: how long a healthy client waits beside peers that mean no good. Only the benchmark writes to
// standard output, so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/bench', 'tools/bench/dist/src/hostile.js')
