// `pnpm <name>` for the programs of this clone: builds a program and runs it in this process, as if it had been called
// directly. Signals reach the program, and only the program writes to standard output, so that `--json` can be piped.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { endWithParents } from './parents.mjs'
import { programs } from './programs.mjs'
import { listPackages, main, read, root } from './workspace.mjs'

const [name = '', ...args] = process.argv.slice(2)
const program = programs[name]
await main(() => {
  if (program === undefined) {
    throw new Error(
      `Usage: node scripts/run.mjs <${Object.keys(programs).join(' | ')}> [arguments]`,
    )
  }
  const owner = listPackages().find(({ dir }) => program.startsWith(`${dir}/`))
  read('turbo', [
    'run',
    'build',
    `--filter=${owner?.manifest.name}...`,
    '--output-logs=errors-only',
  ])
})
if (program !== undefined && process.exitCode === undefined) {
  endWithParents()
  process.chdir(root)
  const path = join(root, program)
  process.argv.splice(1, process.argv.length, path, ...args)
  await import(pathToFileURL(path).href)
}
