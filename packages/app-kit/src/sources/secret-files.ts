import type { Configuration } from './configuration.js'
import { isOpenToOthers } from './text-file.js'

/** The files with secrets that others than their owner can read. */
export function exposedSecrets({ values, settings }: Configuration): string[] {
  return [...settings].flatMap(([name, { isSecretFile }]) => {
    const path = isSecretFile === true ? values[name] : undefined
    return typeof path === 'string' && isOpenToOthers(path) ? [path] : []
  })
}
