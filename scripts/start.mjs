// `pnpm start`: a coordinator and a worker with an example handler, until Ctrl-C.
import { buildAndRun } from './programs.mjs'
import { main } from './workspace.mjs'

await main(() => buildAndRun('@tenure/demo', 'apps/demo/dist/src/start.js', process.argv.slice(2)))
