import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const variable = 'MSGPACKR_NATIVE_ACCELERATION_DISABLED'

/**
 * The file's tests once more, in a process in which msgpackr has no native addon: on some machines
 * it is not there. `undefined` in that process itself, which has nobody else to ask.
 */
export function runWithoutAddon(
  fileUrl: string,
  env: NodeJS.ProcessEnv = {},
): { readonly status: number | null; readonly output: string } | undefined {
  if (process.env[variable] === 'true') return undefined
  const { status, stdout, stderr } = spawnSync(process.execPath, [fileURLToPath(fileUrl)], {
    env: { ...process.env, ...env, [variable]: 'true' },
    encoding: 'utf8',
    timeout: 60_000,
  })
  const output = status === 0 ? 'all passed' : stdout.slice(-2000) + stderr.slice(-2000)
  return { status, output }
}
