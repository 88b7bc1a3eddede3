import { ConfigError, checkToken, readJsonObject, readSecretText, readToken } from '@tenure/app-kit'
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
  const content = readJsonObject(path, askedBy, readSecretText(path, askedBy))
  const found = Object.entries(content).flatMap(([key, tokens], at) => {
    const role = roles.find((role) => role === key)
    // In a file that is turned round it is a token, so it is not repeated.
    if (role === undefined) {
      const expected = `a key is one of ${roles.join(', ')}, and its value a list of tokens`
      throw new ConfigError(`${path}: key ${at + 1} is no role; ${expected}`)
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
