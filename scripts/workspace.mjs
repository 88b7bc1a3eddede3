// Shared by the other scripts: finds packages and runs commands.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

/**
 * @typedef {object} Manifest
 * @property {string} name
 * @property {string} version
 * @property {boolean} [private]
 * @property {Record<string, Record<string, string>>} [exports] file by entry and condition
 * @property {Record<string, string>} [bin]
 * @property {Record<string, string>} [dependencies]
 * @property {Record<string, string>} [devDependencies]
 * @property {Record<string, string>} [peerDependencies]
 * @property {Record<string, string>} [optionalDependencies]
 */

/**
 * @typedef {object} Package
 * @property {string} dir relative to the root, with forward slashes: "packages/wal"
 * @property {Manifest} manifest
 */

export const root = resolve(import.meta.dirname, '..')

/**
 * Every package of the workspace, in the order of its folders.
 * @param {string} [base] another repository
 * @returns {Package[]}
 */
export function listPackages(base = root) {
  return ['packages', 'apps', 'tools'].flatMap((group) => {
    if (!existsSync(join(base, group))) return []
    return readdirSync(join(base, group))
      .sort()
      .map((name) => `${group}/${name}`)
      .filter((dir) => existsSync(join(base, dir, 'package.json')))
      .map((dir) => ({
        dir,
        manifest: JSON.parse(readFileSync(join(base, dir, 'package.json'), 'utf8')),
      }))
  })
}

/**
 * @typedef {object} RunOptions
 * @property {string} [cwd]
 * @property {Record<string, string | undefined>} [env] added to this process's own
 * @property {number} [timeoutMs] time after which the command is killed
 */

/**
 * Runs a command and shows its output.
 * @param {string} command
 * @param {string[]} args
 * @param {RunOptions} [options]
 * @returns {boolean} whether it succeeded
 */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { ...spawnOptions(options), stdio: ['ignore', 1, 2] })
  if (result.signal !== null) console.error(`${command} was killed by ${result.signal}`)
  else if (result.error) throw explain(result.error, command)
  return result.status === 0
}

/**
 * Runs a command and returns its output.
 * @param {string} command
 * @param {string[]} args
 * @param {RunOptions} [options]
 */
export function attempt(command, args, options = {}) {
  const { error, status, stdout, stderr } = spawnSync(command, args, {
    ...spawnOptions(options),
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (error) throw explain(error, command)
  const output = `${stdout}${stderr}`.trim()
  return { ok: status === 0, stdout, output: `${command} ended with ${status}:\n${output}` }
}

/**
 * Runs a command that must succeed and returns its standard output.
 * @param {string} command
 * @param {string[]} args
 * @param {RunOptions} [options]
 */
export function read(command, args, options = {}) {
  const { ok, stdout, output } = attempt(command, args, options)
  if (!ok) throw new Error(output)
  return stdout
}

/**
 * Runs the script. An error is printed and sets a non-zero exit code.
 * @param {() => Promise<void> | void} script
 */
export async function main(script) {
  try {
    await script()
  } catch (error) {
    // A plain Error is a finding. Other errors are bugs of the script and are shown with their stack.
    const isFinding = error instanceof Error && error.constructor === Error
    console.error('')
    console.error(isFinding ? error.message : error)
    process.exitCode = 1
  }
}

/**
 * The options on the command line, by name. An unknown argument exits with code 2 and the usage; `--help` prints the
 * usage.
 * @template {NonNullable<import('node:util').ParseArgsConfig['options']>} T
 * @param {string} usage
 * @param {T} options
 */
export function readArguments(usage, options) {
  // pnpm also passes the `--` in front of them.
  const args = process.argv.slice(2).filter((arg) => arg !== '--')
  if (args.includes('--help') || args.includes('-h')) {
    console.log(`Usage: ${usage}`)
    process.exit(0)
  }
  try {
    return parseArgs({ args, options }).values
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    console.error(`${error.message}\nUsage: ${usage}`)
    process.exit(2)
  }
}

/** @type {string | undefined} */
let path

/** A PATH with the tools of this clone, and with pnpm, which turbo starts. Works without pnpm as the parent, too. */
export function toolPath() {
  path ??= [join(root, 'node_modules/.bin'), findPnpm()].join(delimiter)
  return path
}

function findPnpm() {
  const { PATH = '', npm_config_user_agent: runBy = '' } = process.env
  const directories = PATH.split(delimiter)
  if (runBy.startsWith('pnpm') || directories.some((it) => existsSync(join(it, 'pnpm'))))
    return PATH
  const args = ['--package=pnpm', '-c', 'node -p process.env.PATH']
  const { status, stdout } = spawnSync('npx', args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  if (status === 0) return stdout.trim()
  throw new Error(
    'pnpm was not found, and npx cannot download it. Run the script as "npx pnpm <name>".',
  )
}

/**
 * @param {Error} error
 * @param {string} command
 */
function explain(error, command) {
  if (!('code' in error) || error.code !== 'ENOENT') return error
  return new Error(`Cannot find the command "${command}". Run "npx pnpm install" first.`)
}

/** @param {RunOptions} options */
function spawnOptions({ cwd = root, env = {}, timeoutMs }) {
  return {
    cwd,
    timeout: timeoutMs,
    env: { ...process.env, PATH: toolPath(), TURBO_TELEMETRY_DISABLED: '1', ...env },
    // On Windows the tools are .cmd files, which need a shell.
    shell: process.platform === 'win32',
  }
}
