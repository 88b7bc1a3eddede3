// `pnpm tenure`: the tenure command of this clone.
import { buildAndRun } from './programs.mjs'

await buildAndRun('@tenure/cli', 'apps/cli/dist/src/main.js')
