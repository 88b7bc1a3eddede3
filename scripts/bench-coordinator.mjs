// `pnpm bench:smoke` and `pnpm bench:hostile`: builds @tenure/coordinator-server with what it depends
// on, then runs the benchmark that is named.
// Only the benchmark writes to standard output, so that `--json` can be piped.
import { spawnSync } from 'node:child_process'
import { main, read, root } from './workspace.mjs'

await main(() => {
  read('turbo', [
    'run',
    'build',
    '--filter=@tenure/coordinator-server...',
    '--output-logs=errors-only',
  ])
  const [name, ...args] = process.argv.slice(2)
  const command = [`packages/coordinator-server/dist/bench/${name}.js`, ...args]
  const { error, status } = spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' })
  if (error) throw error
  process.exitCode = status ?? 1
})
