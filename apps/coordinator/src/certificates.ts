import { X509Certificate } from 'node:crypto'
import { createSecureContext, type TlsOptions } from 'node:tls'
import { ConfigError } from './config-error.js'
import type { Configuration } from './configuration.js'
import { readText } from './text-file.js'

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
  const cert = readText(tlsCert, origins.get('tlsCert')!)
  const key = readText(tlsKey, origins.get('tlsKey')!)
  check(
    () => createSecureContext({ cert, key }),
    `${tlsCert} and ${tlsKey} are no certificate with its key`,
  )
  if (tlsClientCa === undefined) return { cert, key, handshakeTimeout }
  const ca = readText(tlsClientCa, origins.get('tlsClientCa')!)
  check(() => new X509Certificate(ca), `${tlsClientCa} is no certificate`)
  return { cert, key, ca, handshakeTimeout, requestCert: true, rejectUnauthorized: true }
}

/** Now, and not when the first client connects. */
function check(use: () => unknown, otherwise: string): void {
  try {
    use()
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigError(`${otherwise}: ${why}`, { cause })
  }
}
