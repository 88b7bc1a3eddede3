import { checkNames } from '../values.js'
import type { CallOptions } from './limit.js'
import { Link } from './link.js'
import { type LinkOptions, settleLinkOptions } from './options.js'

/** A link with its first connection made; or none, and nothing is left behind. */
export async function openLink(
  options: LinkOptions,
  call: Pick<CallOptions, 'signal'> = {},
): Promise<Link> {
  checkNames('call', call, ['signal'])
  const settings = settleLinkOptions(options)
  const link = new Link(settings)
  try {
    await link.ready({ signal: call.signal, timeoutMs: settings.connectTimeoutMs })
    return link
  } catch (error) {
    await link.close()
    throw error
  }
}
