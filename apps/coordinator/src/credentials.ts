import { ConfigError, checkToken, readJsonObject, readToken } from '@tenure/app-kit'
import type { Token } from '@tenure/coordinator-server'
import { type Role, roles } from '@tenure/protocol'
import type { Configuration } from './settings.js'

/** Who may come in, from a token for everything and the tokens of each role. */
export function readTokens(configuration: Configuration): Token[] {
  const { values, origins } = configuration
  const forAll = readToken(configuration)
  const rolesOf = new Map<string, Set<Role>>()
  const allow = (text: string, role: Role) => {
    rolesOf.set(text, (rolesOf.get(text) ?? new Set()).add(role))
  }
  if (values.tokensFile !== undefined) {
    for (const [role, text] of readTokensFile(values.tokensFile, origins.get('tokensFile')!)) {
      allow(text, role)
    }
  }
  if (forAll !== undefined) for (const role of roles) allow(forAll, role)
  return [...rolesOf].map(([text, roles]) => ({ token: text, roles: [...roles] }))
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
  if (found.length === 0) throw new ConfigError(`${askedBy} names ${path}, which holds no token`)
  return found
}
