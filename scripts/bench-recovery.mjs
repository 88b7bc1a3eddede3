// `pnpm bench:recovery`: how long a restart takes, from the kill to the first answer, beside
// beanstalkd and Redis where they are installed. Only the benchmark writes to standard output, so
// that `--json` can be piped.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/bench', 'tools/bench/dist/src/recovery.js')
