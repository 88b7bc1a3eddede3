import { formatDuration, type Host, printable } from '@tenure/app-kit'
import type { LinkObserver, LinkOptions } from '@tenure/client'

/** A command that waits longer than this says what it waits for. */
const quietMs = 1000

/** Says on a terminal where a coordinator is looked for, and why there is none yet, unless one is found soon. */
export class SearchNotice {
  readonly observer: LinkObserver = {
    attemptFailed: ({ error }) => {
      this.#why = ` (${error.message})`
    },
  }
  readonly #timer: NodeJS.Timeout
  #why = ''

  constructor({ endpoints, connectTimeoutMs = 0 }: LinkOptions, { stderr }: Host) {
    const places = endpoints.join(', ')
    this.#timer = setTimeout(() => {
      if (stderr.isTTY !== true) return
      const limit = formatDuration(connectTimeoutMs)
      const text = `no coordinator at ${places} yet${this.#why}; trying for ${limit} in all`
      stderr.write(`tenure: ${printable(text)}\n`)
    }, quietMs)
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }
}
