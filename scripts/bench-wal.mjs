// `pnpm bench:wal`: builds @tenure/wal with what it depends on, then measures it.
// Only the benchmark writes to standard output, so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/wal', 'packages/wal/dist/bench/main.js')
