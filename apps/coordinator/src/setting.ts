import type { Kind } from './kinds.js'

/** Where a value may come from. */
export type Source = 'flag' | 'environment' | 'file'

/** One thing that can be set, under one name: `leaseDuration` is --lease-duration and TENURE_LEASE_DURATION. */
export interface Setting<T> {
  readonly kind: Kind<T>
  readonly help: string
  /** Without one it stays unset. */
  readonly fallback?: T
  /** Where it can be set; everywhere, if this is left out. */
  readonly sources?: readonly Source[]
  /** What the coordinator and its log call it in their messages. */
  readonly option?: string
}

export function flagOf(name: string): string {
  return `--${words(name).join('-')}`
}

export function variableOf(name: string): string {
  return `${variablePrefix}${words(name).join('_').toUpperCase()}`
}

export const variablePrefix = 'TENURE_'

export function mayStandIn(setting: Setting<unknown>, source: Source): boolean {
  return setting.sources?.includes(source) ?? true
}

function words(name: string): string[] {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).split(' ')
}
