import type { Configuration } from './configuration.js'
import { isOpenToOthers } from './text-file.js'

/** The files with secrets that others than their owner can read. */
export function exposedSecrets({ values }: Configuration): string[] {
  const { tokenFile, tokensFile, tlsKey } = values
  return [tokenFile, tokensFile, tlsKey].filter(
    (path) => path !== undefined && isOpenToOthers(path),
  ) as string[]
}
