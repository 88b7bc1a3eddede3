// `pnpm start`: a coordinator and a worker with an example handler, until Ctrl-C.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/demo', 'tools/demo/dist/src/start.js')
