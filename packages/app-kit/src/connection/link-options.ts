import type { LinkOptions, TlsOptions } from '@tenure/client'
import { ConfigError } from '../settings/given-value.js'
import { flagOf } from '../settings/settings.js'
import type { Configuration } from '../sources/configuration.js'
import { type NamedFile, readAuthority, readKeyPair } from './certificates.js'
import type { connectionSettings } from './connection-settings.js'
import { readToken } from './token.js'

export type ConnectionConfiguration = Configuration<typeof connectionSettings>

/** The connection options of a client or a worker. Reads the token and certificate files. */
export function toLinkOptions(
  configuration: ConnectionConfiguration,
): Pick<LinkOptions, 'endpoints' | 'token' | 'tls'> {
  const token = readToken(configuration)
  const tls = readTls(configuration)
  return {
    endpoints: configuration.values.coordinator,
    token,
    tls,
  }
}

function readTls(configuration: ConnectionConfiguration): true | TlsOptions | undefined {
  const { values, origins } = configuration
  const details = (['tlsCa', 'tlsCert', 'tlsKey', 'tlsKeyPassphrase', 'tlsServername'] as const)
    .map((name) => origins.get(name))
    .filter((where) => where !== undefined)
  if (details.length === 0) return values.tls || undefined
  const told = origins.get('tls')
  // Guessing would risk sending in plain text what was meant to be encrypted.
  if (told !== undefined && !values.tls) {
    throw new ConfigError(
      `${told} is false, but ${details.join(', ')} needs TLS; remove one of them`,
    )
  }
  const ca = fileOf(configuration, 'tlsCa')
  const { tlsServername: servername } = values
  return {
    ca: ca === undefined ? undefined : readAuthority(ca),
    ...readOwnCertificate(configuration),
    servername,
  }
}

function readOwnCertificate(configuration: ConnectionConfiguration) {
  const { values, origins } = configuration
  const cert = fileOf(configuration, 'tlsCert')
  const key = fileOf(configuration, 'tlsKey')
  const { tlsKeyPassphrase: passphrase } = values
  if (cert === undefined && key === undefined && passphrase === undefined) return {}
  if (cert === undefined || key === undefined) {
    const given = [cert?.origin, key?.origin, origins.get('tlsKeyPassphrase')]
    throw new ConfigError(
      `${given.filter(Boolean).join(', ')} is incomplete; a client certificate needs both ${flagOf('tlsCert')} and ${flagOf('tlsKey')}`,
    )
  }
  const pair = readKeyPair(cert, key, passphrase)
  return { ...pair, passphrase }
}

function fileOf(
  { values, origins }: ConnectionConfiguration,
  name: 'tlsCa' | 'tlsCert' | 'tlsKey',
): NamedFile | undefined {
  const path = values[name]
  return path === undefined ? undefined : { path, origin: origins.get(name)! }
}
