import { parseEndpoint, TenureError } from '@tenure/client'
import { type Kind, listOf, secret, text, yesOrNo } from '../settings/kinds.js'
import { setting } from '../settings/settings.js'

/** How a worker and a tool reach the coordinator: the same names for both. */
export const connectionSettings = {
  Connection: {
    coordinator: setting(listOf(endpoint()), {
      fallback: ['127.0.0.1:7411'],
      help: 'Where the coordinator listens. Several are tried in turn; without a port it is 7411.',
    }),
    token: setting(secret(), {
      help: 'What the coordinator lets in. Or put it into a file: --token-file.',
    }),
    tokenFile: setting(text('file'), { help: 'A file that holds this token.', isSecretFile: true }),
  },
  TLS: {
    tls: setting(yesOrNo(), {
      fallback: false,
      help: 'Connects over TLS, and takes what the authorities vouch for that Node knows. Each of the following turns it on, too.',
    }),
    tlsCa: setting(text('file'), {
      help: "The authority that the coordinator's certificate comes from, in their place (PEM).",
    }),
    tlsCert: setting(text('file'), {
      help: 'A certificate of our own, with its chain (PEM), for a coordinator with --tls-client-ca.',
    }),
    tlsKey: setting(text('file'), {
      help: 'The key of this certificate (PEM).',
      isSecretFile: true,
    }),
    tlsKeyPassphrase: setting(secret(), {
      help: 'What the key is encrypted with.',
    }),
    tlsServername: setting(text('name'), {
      help: "Whom the coordinator's certificate must be for, where that is not the host it is reached under.",
    }),
  },
} as const

function endpoint(): Kind<string> {
  return {
    placeholder: '<host:port>',
    accepted: 'like host:7411, host or [::1]:7411',
    json: ['string'],
    parse: (given) => (isEndpoint(given) ? given : undefined),
    format: (value) => value,
    // It may be the URL of a service, with a password or a key in it.
    redact: (given) => (/[@?]/.test(given) ? 'a URL with credentials or a query' : given),
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
