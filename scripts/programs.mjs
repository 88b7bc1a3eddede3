// Builds what a program needs and runs it in this terminal, as if it had been called itself.
import { spawn } from 'node:child_process'
import { read, root } from './workspace.mjs'

/**
 * @param {string} name the package to build, with what it depends on
 * @param {string} program relative to the root
 * @param {string[]} args
 */
export async function buildAndRun(name, program, args) {
  read('turbo', ['run', 'build', `--filter=${name}...`, '--output-logs=errors-only'])
  const child = spawn(process.execPath, [program, ...args], { cwd: root, stdio: 'inherit' })
  // Ctrl-C in a terminal, and its closing, reach the program by themselves; a second time would mean
  // something else. How it ends is its own decision, and this waits for it.
  for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  process.exitCode = await new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve(code ?? 1))
  })
}
