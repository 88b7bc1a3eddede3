// `pnpm check:deploy`: the unit files and the alert rules, by the tools that read them. Where a tool is
// not installed it says so, and checks the rest.
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
 * The unit as it is, but for its program, which need not be installed here.
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
  // systemd-analyze warns on its standard error and ends with 0.
  if (status !== 0 || (tool === 'systemd-analyze' && said !== '')) {
    throw new Error(`${tool} ${args.join(' ')}\n${said}`)
  }
  console.log(`ok  ${tool} ${args.slice(0, 2).join(' ')}`)
}
