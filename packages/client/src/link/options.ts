import { messageLimits, type Role, roles } from '@tenure/protocol'
import { type Clock, type Random, systemClock, systemRandom } from '@tenure/seams'
import type { Backoff, DialerSettings } from '../connection/dialer.js'
import { parseEndpoint } from '../connection/endpoint.js'
import { guarded, type LinkObserver } from '../connection/link-observer.js'
import { nodeTransport } from '../connection/node-transport.js'
import type { TlsOptions, Transport } from '../connection/transport.js'
import { check } from '../errors.js'

export interface LinkOptions {
  /** `host:port`, tried in turn. The port is 7411 where it is missing. */
  readonly endpoints: readonly string[]
  /** Who this is, for the coordinator's own lists; a worker's leases are its own under this name. Default: made up. */
  readonly name?: string | undefined
  /** `produce` submits and asks, `work` leases and reports, `admin` may do all. Default `produce`. */
  readonly role?: Role | undefined
  readonly token?: string | undefined
  /** `true` takes the authorities Node knows. */
  readonly tls?: boolean | TlsOptions | undefined
  /** How many tasks this worker runs at once. Default 0, which states none. */
  readonly capacity?: number | undefined
  /** How long the first connection may take, over all endpoints and attempts. Default 10,000. */
  readonly connectTimeoutMs?: number | undefined
  /** How long one endpoint may take to let us in. Default 3,000. */
  readonly attemptTimeoutMs?: number | undefined
  /** How long a call may take that does not say itself. Default 30,000. */
  readonly requestTimeoutMs?: number | undefined
  /** After so much silence the coordinator is asked for a sign of life. Default 10,000. */
  readonly keepAliveMs?: number | undefined
  /** Between rounds of attempts. Default from 100 ms to 5,000 ms. */
  readonly backoff?: Partial<Backoff>
  readonly observer?: LinkObserver | undefined
  /** The edges to the world, for tests and simulations. */
  readonly transport?: Transport | undefined
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
}

/** The options with their defaults, checked. */
export interface LinkSettings extends DialerSettings {
  readonly connectTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly observer: LinkObserver
}

const optionNames: readonly (keyof LinkOptions)[] = [
  'endpoints',
  'name',
  'role',
  'token',
  'tls',
  'capacity',
  'connectTimeoutMs',
  'attemptTimeoutMs',
  'requestTimeoutMs',
  'keepAliveMs',
  'backoff',
  'observer',
  'transport',
  'clock',
  'random',
]

export function settleLinkOptions(options: LinkOptions): LinkSettings {
  check.names('options', options, optionNames)
  const { endpoints, role = 'produce', token, random = systemRandom } = options
  check.list('options.endpoints', endpoints, 'a list of at least one "host:port"', 1)
  check.oneOf('options.role', role, roles)
  const { workerIdBytesMax, tokenBytesMax } = messageLimits
  const { name = `client-${random.id()}`, capacity = 0 } = options
  const hello = {
    role,
    name: check.text('options.name', name, 1, workerIdBytesMax),
    token: token === undefined ? undefined : check.text('options.token', token, 1, tokenBytesMax),
    capacity: check.whole('options.capacity', capacity, 0, 1_000_000),
  }
  return {
    endpoints: endpoints.map((text, index) => parseEndpoint(text, `options.endpoints[${index}]`)),
    hello,
    random,
    tls: settleTls(options.tls ?? false),
    connectTimeoutMs: check.duration(
      'options.connectTimeoutMs',
      options.connectTimeoutMs ?? 10_000,
    ),
    attemptTimeoutMs: check.duration('options.attemptTimeoutMs', options.attemptTimeoutMs ?? 3000),
    requestTimeoutMs: check.duration(
      'options.requestTimeoutMs',
      options.requestTimeoutMs ?? 30_000,
    ),
    keepAliveMs: check.duration('options.keepAliveMs', options.keepAliveMs ?? 10_000),
    backoff: settleBackoff(options.backoff ?? {}),
    observer: guarded(options.observer ?? {}),
    transport: options.transport ?? nodeTransport,
    clock: options.clock ?? systemClock,
  }
}

function settleTls(given: boolean | TlsOptions): TlsOptions | undefined {
  if (typeof given === 'boolean') return given ? {} : undefined
  check.names('options.tls', given, ['ca', 'cert', 'key', 'passphrase', 'servername'])
  return given
}

function settleBackoff(given: Partial<Backoff>): Backoff {
  check.names('options.backoff', given, ['initialMs', 'maxMs'])
  const initialMs = check.duration('options.backoff.initialMs', given.initialMs ?? 100)
  const maxMs = check.duration('options.backoff.maxMs', given.maxMs ?? Math.max(5000, initialMs))
  return { initialMs, maxMs }
}
