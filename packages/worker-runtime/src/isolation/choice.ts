import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe } from '@tenure/options'
import { check } from '../errors.js'
import { type Handler, loadHandler } from '../handler.js'
import type { WorkerObserver } from '../observe/observer.js'
import { HostPool } from './host-pool.js'
import { InlineIsolation } from './inline.js'
import type { Isolation } from './isolation.js'
import type { StartHost } from './pooled-host.js'
import { startProcess } from './process-host.js'
import { startThread } from './thread-host.js'

/** Where handlers run. */
export const isolations = ['thread', 'process', 'inline'] as const
export type IsolationKind = (typeof isolations)[number]

/** Resolves the options `isolation` and `handler`. */
export function chooseIsolation(
  isolation: IsolationKind | Isolation,
  handler: string | URL | Handler | undefined,
  execArgv: readonly string[],
): (observer: WorkerObserver) => Isolation {
  if (typeof isolation === 'object') {
    const own = checkIsolation(isolation)
    return () => own
  }
  check.oneOf('options.isolation', isolation, isolations)
  if (isolation === 'inline') {
    if (typeof handler === 'function') return () => new InlineIsolation(async () => handler)
    const url = toUrl(handler)
    return () => new InlineIsolation(() => loadHandler(url))
  }
  const start = isolation === 'thread' ? startThread : startProcess
  const url = toUrl(handler)
  const startHost: StartHost = (events) => start(url, { execArgv }, events)
  return (observer) => new HostPool(startHost, (reason) => observer.hostCrashed?.(reason))
}

function checkIsolation(isolation: Isolation): Isolation {
  check.object('options.isolation', isolation)
  for (const verb of ['start', 'run', 'close'] as const) {
    check.callable(`options.isolation.${verb}`, isolation[verb])
  }
  return isolation
}

function toUrl(handler: string | URL | Handler | undefined): string {
  if (handler instanceof URL) return handler.href
  if (typeof handler === 'string' && handler !== '') return toFileUrl(handler)
  const got =
    typeof handler === 'function' ? 'a function, which can only run inline' : describe(handler)
  throw check.refusal('options.handler', got, 'the path or URL of a module with a default export')
}

function toFileUrl(path: string): string {
  return path.startsWith('file:') ? path : pathToFileURL(resolve(path)).href
}
