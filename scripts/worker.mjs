// `pnpm worker`: the tenure-worker of this clone.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/worker', 'apps/worker/dist/src/main.js')
