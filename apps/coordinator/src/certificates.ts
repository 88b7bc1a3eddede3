import type { TlsOptions } from 'node:tls'
import { ConfigError, readAuthority, readKeyPair } from '@tenure/app-kit'
import type { Configuration } from './settings.js'

/** TLS with the files named, or `undefined` when none is. */
export function readCertificates({ values, origins }: Configuration): TlsOptions | undefined {
  const { tlsCert, tlsKey, tlsClientCa, handshakeTimeout } = values
  if (tlsCert === undefined && tlsKey === undefined && tlsClientCa === undefined) return undefined
  if (tlsCert === undefined || tlsKey === undefined) {
    const given = [origins.get('tlsCert'), origins.get('tlsKey'), origins.get('tlsClientCa')]
    throw new ConfigError(
      `${given.filter(Boolean).join(', ')}: TLS needs both --tls-cert and --tls-key`,
    )
  }
  const pair = readKeyPair(
    { path: tlsCert, askedBy: origins.get('tlsCert')! },
    { path: tlsKey, askedBy: origins.get('tlsKey')! },
  )
  if (tlsClientCa === undefined) return { ...pair, handshakeTimeout }
  const ca = readAuthority({ path: tlsClientCa, askedBy: origins.get('tlsClientCa')! })
  return { ...pair, ca, handshakeTimeout, requestCert: true, rejectUnauthorized: true }
}
