import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { ConfigError } from '../settings/given-value.js'
import { readSecretText, readText } from '../sources/text-file.js'

/** A file that is named by a setting, and the origin of that setting. */
export interface NamedFile {
  readonly path: string
  readonly origin: string
}

export interface KeyPair {
  readonly cert: string
  readonly key: string
}

/** Checks that the certificate and the key belong together, before any connection is made. */
export function readKeyPair(certFile: NamedFile, keyFile: NamedFile, passphrase?: string): KeyPair {
  const cert = readText(certFile.path, certFile.origin)
  const key = readSecretText(keyFile.path, keyFile.origin)
  check(
    () => createSecureContext({ cert, key, passphrase }),
    `${certFile.origin} ${certFile.path} and ${keyFile.origin} ${keyFile.path} are not a certificate and its private key`,
  )
  return { cert, key }
}

/** Reads and checks a CA certificate. */
export function readAuthority({ path, origin }: NamedFile): string {
  const ca = readText(path, origin)
  check(() => new X509Certificate(ca), `${origin} ${path} is not a certificate`)
  return ca
}

function check(use: () => unknown, otherwise: string): void {
  try {
    use()
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigError(`${otherwise}: ${why}`, { cause })
  }
}
