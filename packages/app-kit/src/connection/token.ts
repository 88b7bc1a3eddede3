import { messageLimits } from '@tenure/protocol'
import { ConfigError } from '../settings/given-value.js'
import type { Origins } from '../sources/configuration.js'
import { readSecretText } from '../sources/text-file.js'

interface TokenConfiguration {
  readonly values: { readonly token: string | undefined; readonly tokenFile: string | undefined }
  readonly origins: Origins<'token' | 'tokenFile'>
}

/** Reads the token from its setting or its file. */
export function readToken({ values, origins }: TokenConfiguration): string | undefined {
  const { token, tokenFile } = values
  checkExclusive(origins, 'token', 'tokenFile')
  if (token !== undefined) return checkToken(token, origins.get('token')!)
  if (tokenFile === undefined) return undefined
  // Editors end the last line with a line feed.
  const origin = origins.get('tokenFile')!
  return checkToken(readSecretText(tokenFile, origin).trim(), `the token in ${origin} ${tokenFile}`)
}

/** Rejects more than one of several mutually exclusive settings. */
export function checkExclusive<Name extends string>(
  origins: Pick<Origins<Name>, 'get'>,
  ...names: readonly Name[]
): void {
  const [one, other] = names.map((name) => origins.get(name)).filter((it) => it !== undefined)
  if (other !== undefined)
    throw new ConfigError(`${one} and ${other} are mutually exclusive; remove one of them`)
}

/** The error names the origin of the token, never the token itself. */
export function checkToken(token: unknown, where: string): string {
  const { tokenBytesMax } = messageLimits
  if (typeof token === 'string' && token !== '' && Buffer.byteLength(token) <= tokenBytesMax) {
    return token
  }
  throw new ConfigError(`${where} is invalid; a token is a text of 1 to ${tokenBytesMax} bytes`)
}
