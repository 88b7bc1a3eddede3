// `pnpm bench:state`: builds @tenure/state-machine with what it depends on, then measures it.
// Only the benchmark writes to standard output, so that `--json` can be piped.
import { spawnSync } from 'node:child_process'
import { main, read, root } from './workspace.mjs'

await main(() => {
  read('turbo', ['run', 'build', '--filter=@tenure/state-machine...', '--output-logs=errors-only'])
  const command = ['packages/state-machine/dist/bench/main.js', ...process.argv.slice(2)]
  const { error, status } = spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' })
  if (error) throw error
  process.exitCode = status ?? 1
})
