// `pnpm start`: a coordinator and a worker with an example handler, until Ctrl-C.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/demo', 'apps/demo/dist/src/start.js')
