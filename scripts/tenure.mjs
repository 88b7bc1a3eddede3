// `pnpm tenure`: the tenure command of this clone.
import { buildAndRun } from './programs.mjs'
import { main } from './workspace.mjs'

await main(() => buildAndRun('@tenure/cli', 'apps/cli/dist/src/main.js', process.argv.slice(2)))
