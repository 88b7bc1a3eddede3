import { isIP } from 'node:net'

/** A host, with brackets around an IPv6 address, and an optional port. */
const shape = /^(?:\[(?<address>[^[\]]*)\]|(?<name>[^:[\]]*))(?::\d*)?$/

/**
 * Detects requests that a foreign web page sends through a browser under a host name of its own (DNS
 * rebinding). An IP address and `localhost` are safe, because a page cannot redirect them.
 */
export class AllowedHosts {
  readonly #names: ReadonlySet<string>

  /** `names` are allowed in addition to loopback names and IP addresses. */
  constructor(names: readonly string[]) {
    this.#names = new Set(names.map(plain))
  }

  /** Checks a `Host` header. A missing one is allowed: HTTP/1.0 clients omit it, browsers never do. */
  allows(header: string | undefined): boolean {
    if (header === undefined || header === '') return true
    const { address, name } = shape.exec(header)?.groups ?? {}
    if (address !== undefined) return isIP(address) === 6
    if (name === undefined) return false
    const host = plain(name)
    return isIP(host) === 4 || isLocalhost(host) || this.#names.has(host)
  }
}

/** Lower case, without a trailing dot. */
function plain(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost')
}
