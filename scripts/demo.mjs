// `pnpm demo`: a guided run of about a minute, with crashes and pauses.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/demo', 'tools/demo/dist/src/demo.js')
