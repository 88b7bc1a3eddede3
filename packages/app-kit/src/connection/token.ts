import { messageLimits } from '@tenure/protocol'
import { ConfigError } from '../settings/given.js'
import type { Origins } from '../sources/configuration.js'
import { readSecretText } from '../sources/text-file.js'

interface TokenConfiguration {
  readonly values: { readonly token: string | undefined; readonly tokenFile: string | undefined }
  readonly origins: Origins<'token' | 'tokenFile'>
}

/** The token that is set, or stands in the file that is set. */
export function readToken({ values, origins }: TokenConfiguration): string | undefined {
  const { token, tokenFile } = values
  refuseTogether(origins, 'token', 'tokenFile')
  if (token !== undefined) return checkToken(token, origins.get('token')!)
  if (tokenFile === undefined) return undefined
  // An editor ends the line; a token does not end with it.
  const askedBy = origins.get('tokenFile')!
  return checkToken(
    readSecretText(tokenFile, askedBy).trim(),
    `${askedBy} names ${tokenFile}, which`,
  )
}

/** Refuses settings that exclude one another where more than one of them is set. */
export function refuseTogether<Name extends string>(
  origins: Pick<Origins<Name>, 'get'>,
  ...names: readonly Name[]
): void {
  const [one, other] = names.map((name) => origins.get(name)).filter((it) => it !== undefined)
  if (other !== undefined)
    throw new ConfigError(`${one} and ${other} are both set; give one of them`)
}

/** Says where it stands, never what it is. */
export function checkToken(token: unknown, where: string): string {
  const { tokenBytesMax } = messageLimits
  if (typeof token === 'string' && token !== '' && Buffer.byteLength(token) <= tokenBytesMax) {
    return token
  }
  throw new ConfigError(`${where} is no token; it must be a text of 1 to ${tokenBytesMax} bytes`)
}
