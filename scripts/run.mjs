// `pnpm <name>` for the programs of this clone: builds what one needs and runs it in this process, as if it
// had been called itself: a signal for this process is one for the program, and only the program writes to
// standard output, so that `--json` can be piped.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { endWithParents } from './parents.mjs'
import { listPackages, main, read, root } from './workspace.mjs'

/** @type {Record<string, string>} */
const programs = {
  start: 'tools/demo/dist/src/start.js',
  demo: 'tools/demo/dist/src/demo.js',
  tenure: 'apps/cli/dist/src/main.js',
  worker: 'apps/worker/dist/src/main.js',
  'test:faults': 'tools/simulator/dist/src/faults/main.js',
  'bench:guard': 'tools/bench/dist/src/guard.js',
  'bench:profile': 'tools/bench/dist/src/profile.js',
  'bench:system': 'tools/bench/dist/src/system.js',
  'bench:soak': 'tools/bench/dist/src/soak.js',
  'bench:worker': 'tools/bench/dist/src/worker.js',
  'bench:recovery': 'tools/bench/dist/src/recovery.js',
  'bench:history': 'tools/bench/dist/src/history.js',
  'bench:wal': 'packages/wal/dist/bench/main.js',
  'bench:hostile': 'tools/bench/dist/src/hostile.js',
  'bench:state': 'packages/state-machine/dist/bench/main.js',
  chaos: 'tools/chaos/dist/src/main.js',
  explore: 'tools/explorer/dist/src/main.js',
  fuzz: 'tools/fuzzer/dist/src/main.js',
  sim: 'tools/simulator/dist/src/main.js',
}

const [name = '', ...args] = process.argv.slice(2)
const program = programs[name]
await main(() => {
  if (program === undefined) {
    throw new Error(`node scripts/run.mjs <${Object.keys(programs).join(' | ')}> [arguments]`)
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
