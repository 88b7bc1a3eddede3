import { parseEndpoint, TenureError } from '@tenure/client'
import { type Kind, listOf, secret, text, yesOrNo } from '../settings/kinds.js'
import { setting } from '../settings/settings.js'

/** How workers and tools reach the coordinator. */
export const connectionSettings = {
  Connection: {
    coordinator: setting(listOf(endpoint()), {
      fallback: ['127.0.0.1:7411'],
      help: 'One address, or several separated by commas: those of all coordinators of a set (one of them is active, the others are standbys). The port defaults to 7411.',
    }),
    token: setting(secret(), {
      help: 'Token to authenticate with; --token-file reads it from a file.',
    }),
    tokenFile: setting(text('file'), { help: 'File that holds the token.', isSecretFile: true }),
  },
  TLS: {
    tls: setting(yesOrNo(), {
      fallback: false,
      help: 'Connect over TLS and trust the CAs of Node.js; each other --tls flag also turns TLS on.',
    }),
    tlsCa: setting(text('file'), {
      help: 'CA certificates to trust instead of the CAs of Node.js (PEM).',
    }),
    tlsCert: setting(text('file'), {
      help: 'Client certificate with its chain, for a coordinator with --tls-client-ca (PEM).',
    }),
    tlsKey: setting(text('file'), {
      help: 'Private key of the client certificate (PEM).',
      isSecretFile: true,
    }),
    tlsKeyPassphrase: setting(secret(), {
      help: 'Passphrase of the private key.',
    }),
    tlsServername: setting(text('name'), {
      help: "Name to expect in the coordinator's certificate instead of the host in --coordinator.",
    }),
  },
} as const

function endpoint(): Kind<string> {
  return {
    placeholder: '<host:port>',
    accepted: 'host:port, host or [ipv6]:port',
    json: ['string'],
    parse: (given) => (isEndpoint(given) ? given : undefined),
    format: (value) => value,
    // A URL may hold a password or a key.
    describe: (given) => (/[@?]/.test(given) ? 'a URL with credentials or a query' : given),
  }
}

function isEndpoint(given: string): boolean {
  try {
    parseEndpoint(given, 'endpoint')
    return true
  } catch (error) {
    if (error instanceof TenureError) return false
    throw error
  }
}
