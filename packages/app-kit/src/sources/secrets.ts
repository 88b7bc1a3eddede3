import type { Host } from '../host.js'
import { variableOf } from '../settings/setting.js'
import type { Configuration } from './configuration.js'
import { isOpenToOthers } from './text-file.js'

/**
 * Once the secrets are read they are not in the environment any more: what a service starts, threads
 * and processes with the code of others, would have them from there.
 */
export function takeSecretsOut({ settings }: Configuration, { env }: Pick<Host, 'env'>): void {
  for (const [name, { kind }] of settings) if (kind.isSecret === true) delete env[variableOf(name)]
}

/** The files with secrets that others than their owner can read. */
export function exposedSecrets({ values, settings }: Configuration): string[] {
  return [...settings].flatMap(([name, { isSecretFile }]) => {
    const path = isSecretFile === true ? values[name] : undefined
    return typeof path === 'string' && isOpenToOthers(path) ? [path] : []
  })
}
