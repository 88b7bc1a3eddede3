import { isIP } from 'node:net'

/** A host, in brackets where it is an IPv6 address, and a port. */
const shape = /^(?:\[(?<address>[^[\]]*)\]|(?<name>[^:[\]]*))(?::\d*)?$/

/**
 * Tells the requests that are meant for this port from those that a web page makes a browser send here:
 * under a name of its own, which it lets resolve to this machine (DNS rebinding). An address and
 * `localhost` cannot be pointed elsewhere.
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>

  /** Of names that are allowed beside these. */
  constructor(names: readonly string[]) {
    this.#names = new Set(names.map(plain))
  }

  /** Of a `Host` header. Programs may leave it out, as HTTP/1.0 does; a browser never does. */
  allows(header: string | undefined): boolean {
    if (header === undefined || header === '') return true
    const { address, name } = shape.exec(header)?.groups ?? {}
    if (address !== undefined) return isIP(address) === 6
    if (name === undefined) return false
    const host = plain(name)
    return isIP(host) === 4 || isLocalhost(host) || this.#names.has(host)
  }
}

/** In small letters, and without the dot that may end a name. */
function plain(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost')
}
