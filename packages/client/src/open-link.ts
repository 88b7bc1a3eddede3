import type { CallOptions } from './limit.js'
import { Link } from './link.js'
import { type LinkOptions, settleLinkOptions } from './options.js'

/** A link with its first connection made; or none, and nothing is left behind. */
export async function openLink(
  options: LinkOptions,
  { signal }: Pick<CallOptions, 'signal'> = {},
): Promise<Link> {
  const settings = settleLinkOptions(options)
  const link = new Link(settings)
  try {
    await link.ready({ signal, timeoutMs: settings.connectTimeoutMs })
    return link
  } catch (error) {
    await link.close()
    throw error
  }
}
