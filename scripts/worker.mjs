// `pnpm worker`: the tenure-worker of this clone.
import { buildAndRun } from './programs.mjs'
import { main } from './workspace.mjs'

await main(() =>
  buildAndRun('@tenure/worker', 'apps/worker/dist/src/main.js', process.argv.slice(2)),
)
