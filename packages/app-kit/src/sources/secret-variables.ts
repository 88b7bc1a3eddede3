import type { Host } from '../host.js'
import { variableOf } from '../settings/setting.js'
import type { Configuration } from './configuration.js'

/**
 * Once the secrets are read they are not in the environment any more: what a service starts, threads
 * and processes with the code of others, would have them from there.
 */
export function takeSecretsOut({ settings }: Configuration, { env }: Pick<Host, 'env'>): void {
  for (const [name, { kind }] of settings) if (kind.isSecret === true) delete env[variableOf(name)]
}
