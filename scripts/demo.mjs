// `pnpm demo`: a guided run of about a minute, with crashes and pauses.
import { buildAndRun } from './programs.mjs'
import { main } from './workspace.mjs'

await main(() => buildAndRun('@tenure/demo', 'apps/demo/dist/src/demo.js', process.argv.slice(2)))
