// `pnpm fuzz`: builds what reads bytes and words of others with the tool that gives it bad ones, then does so.
// Only the tool writes to standard output, so that `--json` can be piped.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/fuzzer', 'tools/fuzzer/dist/src/main.js')
