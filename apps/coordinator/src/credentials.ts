import type { Token } from '@tenure/coordinator-server'
import { messageLimits, type Role, roles } from '@tenure/protocol'
import { ConfigError } from './config-error.js'
import type { Configuration } from './configuration.js'
import { readJsonObject, readText } from './text-file.js'

/** Who may come in, from a token for everything and the tokens of each role. */
export function readTokens({ values, origins }: Configuration): Token[] {
  const { token, tokenFile, tokensFile } = values
  if (token !== undefined && tokenFile !== undefined) {
    throw new ConfigError(
      `${origins.get('token')} and ${origins.get('tokenFile')} are both set; give one of them`,
    )
  }
  const rolesOf = new Map<string, Set<Role>>()
  const allow = (text: string, role: Role) => {
    rolesOf.set(text, (rolesOf.get(text) ?? new Set()).add(role))
  }
  if (tokensFile !== undefined) {
    for (const [role, text] of readTokensFile(tokensFile, origins.get('tokensFile')!)) {
      allow(text, role)
    }
  }
  const forAll = token ?? readTokenFile(tokenFile, origins.get('tokenFile'))
  if (forAll !== undefined) {
    checkToken(forAll, tokenFile ?? origins.get('token')!)
    for (const role of roles) allow(forAll, role)
  }
  return [...rolesOf].map(([text, roles]) => ({ token: text, roles: [...roles] }))
}

function readTokenFile(path: string | undefined, askedBy = ''): string | undefined {
  // An editor ends the line; a token does not end with it.
  return path === undefined ? undefined : readText(path, askedBy).trim()
}

function readTokensFile(path: string, askedBy: string): [Role, string][] {
  const found = Object.entries(readJsonObject(path, askedBy)).flatMap(([key, tokens]) => {
    const role = roles.find((role) => role === key)
    if (role === undefined) {
      throw new ConfigError(`${path}: ${key} is no role; there are ${roles.join(', ')}`)
    }
    if (!Array.isArray(tokens)) throw new ConfigError(`${path}: ${key} must be a list of tokens`)
    return tokens.map((token, index): [Role, string] => [
      role,
      checkToken(token, `${path}: ${key}[${index}]`),
    ])
  })
  // A file that lets nobody in is a mistake; taken at its word it would let everybody in.
  if (found.length === 0) throw new ConfigError(`${path} holds no token`)
  return found
}

/** Says where it stands, never what it is. */
function checkToken(token: unknown, where: string): string {
  const { tokenBytesMax } = messageLimits
  if (typeof token === 'string' && token !== '' && Buffer.byteLength(token) <= tokenBytesMax) {
    return token
  }
  throw new ConfigError(`${where} is no token; it must be a text of 1 to ${tokenBytesMax} bytes`)
}
