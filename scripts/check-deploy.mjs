// `pnpm check:deploy`: checks the unit files with systemd-analyze and the alert rules with promtool. Reports a tool
// that is not installed, and continues.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main, readArguments, root } from './workspace.mjs'

const deploy = join(root, 'deploy')
const units = ['tenure-coordinator.service', 'tenure-worker.service']

readArguments('npx pnpm check:deploy', {})
await main(() => {
  run('promtool', ['check', 'rules', join(deploy, 'alerts.yml')])
  run('promtool', ['test', 'rules', join(deploy, 'alerts.test.yml')])
  const directory = mkdtempSync(join(tmpdir(), 'tenure-units-'))
  try {
    const copies = units.map((unit) => copyOf(unit, directory))
    run('systemd-analyze', ['verify', '--man=no', ...copies])
  } finally {
    rmSync(directory, { recursive: true })
  }
})

/**
 * Copies the unit, with a program that always exists.
 * @param {string} unit
 * @param {string} directory
 */
function copyOf(unit, directory) {
  const path = join(directory, unit)
  const text = readFileSync(join(deploy, unit), 'utf8')
  writeFileSync(path, text.replace(/^ExecStart=\S+/m, 'ExecStart=/bin/true'))
  return path
}

/**
 * @param {string} tool
 * @param {readonly string[]} args
 */
function run(tool, args) {
  const { error, status, stdout, stderr } = spawnSync(tool, args, { encoding: 'utf8' })
  if (error && 'code' in error && error.code === 'ENOENT') {
    console.log(`${tool} is not installed: NOT CHECKED: ${tool} ${args.slice(0, 2).join(' ')}`)
    return
  }
  const said = `${stdout}${stderr}`.trim()
  // systemd-analyze prints warnings and exits with 0.
  if (status !== 0 || (tool === 'systemd-analyze' && said !== '')) {
    throw new Error(`${tool} ${args.join(' ')}\n${said}`)
  }
  console.log(`ok  ${tool} ${args.slice(0, 2).join(' ')}`)
}
