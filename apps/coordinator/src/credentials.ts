import type { TlsOptions } from 'node:tls'
import {
  ConfigError,
  checkExclusive,
  checkToken,
  readAuthority,
  readJsonObject,
  readKeyPair,
  readSecretText,
  readToken,
} from '@tenure/app-kit'
import type { Token } from '@tenure/coordinator-server'
import { type Role, roles } from '@tenure/protocol'
import type { Configuration } from './settings.js'

/**
 * The accepted tokens: one for every role, or a file with tokens per role. Both together are rejected: a
 * TENURE_TOKEN that is set for a client in the same shell would become an admin token.
 */
export function readTokens(configuration: Configuration): Token[] {
  const { values, origins } = configuration
  checkExclusive(origins, 'token', 'tokenFile', 'tokensFile')
  if (values.tokensFile === undefined) {
    const token = readToken(configuration)
    return token === undefined ? [] : [{ token, roles: [...roles] }]
  }
  const rolesOf = new Map<string, Set<Role>>()
  for (const [role, text] of readTokensFile(values.tokensFile, origins.get('tokensFile')!)) {
    rolesOf.set(text, (rolesOf.get(text) ?? new Set()).add(role))
  }
  return [...rolesOf].map(([text, roles]) => ({ token: text, roles: [...roles] }))
}

function readTokensFile(path: string, origin: string): [Role, string][] {
  const content = readJsonObject(path, origin, readSecretText(path, origin))
  const found = Object.entries(content).flatMap(([key, tokens], at) => {
    const role = roles.find((role) => role === key)
    // If keys and values are swapped, the key is a token, so the message does not repeat it.
    if (role === undefined) {
      const expected = `use ${roles.join(', ')} as keys, each with a list of tokens`
      throw new ConfigError(`${path}: key ${at + 1} is not a role; ${expected}`)
    }
    if (!Array.isArray(tokens)) {
      throw new ConfigError(`${path}: ${key} is not a list; it must be a list of tokens`)
    }
    return tokens.map((token, index): [Role, string] => [
      role,
      checkToken(token, `${path}: ${key}[${index}]`),
    ])
  })
  // An empty list would mean that no token is required, so a file without tokens is an error.
  if (found.length === 0) {
    throw new ConfigError(`${path}, set by ${origin}, contains no tokens; add at least one`)
  }
  return found
}

/** Reads the configured TLS files; `undefined` when none is set. */
export function readCertificates({ values, origins }: Configuration): TlsOptions | undefined {
  const { tlsCert, tlsKey, tlsClientCa, handshakeTimeout } = values
  if (tlsCert === undefined && tlsKey === undefined && tlsClientCa === undefined) return undefined
  if (tlsCert === undefined || tlsKey === undefined) {
    const given = [origins.get('tlsCert'), origins.get('tlsKey'), origins.get('tlsClientCa')]
    throw new ConfigError(
      `${given.filter(Boolean).join(', ')} is incomplete; TLS needs both --tls-cert and --tls-key`,
    )
  }
  const pair = readKeyPair(
    { path: tlsCert, origin: origins.get('tlsCert')! },
    { path: tlsKey, origin: origins.get('tlsKey')! },
  )
  if (tlsClientCa === undefined) return { ...pair, handshakeTimeout }
  const ca = readAuthority({ path: tlsClientCa, origin: origins.get('tlsClientCa')! })
  return { ...pair, ca, handshakeTimeout, requestCert: true, rejectUnauthorized: true }
}
