import { X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { ConfigError } from '../settings/given.js'
import { readSecretText, readText } from '../sources/text-file.js'

/** A file that a setting names, and where that stands. */
export interface NamedFile {
  readonly path: string
  readonly askedBy: string
}

export interface KeyPair {
  readonly cert: string
  readonly key: string
}

/** A certificate and its key, checked now, and not when the first connection is made. */
export function readKeyPair(certFile: NamedFile, keyFile: NamedFile, passphrase?: string): KeyPair {
  const cert = readText(certFile.path, certFile.askedBy)
  const key = readSecretText(keyFile.path, keyFile.askedBy)
  check(
    () => createSecureContext({ cert, key, passphrase }),
    `${certFile.askedBy} and ${keyFile.askedBy} name ${certFile.path} and ${keyFile.path}, which are no certificate with its key`,
  )
  return { cert, key }
}

/** The certificate of an authority. */
export function readAuthority({ path, askedBy }: NamedFile): string {
  const ca = readText(path, askedBy)
  check(() => new X509Certificate(ca), `${askedBy} names ${path}, which is no certificate`)
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
