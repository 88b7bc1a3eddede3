import type { Kind } from './kinds.js'
import type { Setting } from './setting.js'

/** A table of settings: by group, as the help shows them, and in a group by name. */
export type Settings = Readonly<Record<string, Readonly<Record<string, Setting<unknown>>>>>

export type SettingName<S extends Settings> = { [G in keyof S]: keyof S[G] }[keyof S] & string

/** What each setting of a table is set to. */
export type ValuesOf<S extends Settings> = {
  readonly [N in SettingName<S>]: ValueOf<SettingNamed<S, N>>
}

type SettingNamed<S extends Settings, N> = {
  [G in keyof S]: N extends keyof S[G] ? S[G][N] : never
}[keyof S]

type ValueOf<T> = T extends { kind: Kind<infer V> }
  ? T extends { fallback: unknown } | { required: true }
    ? V
    : V | undefined
  : never

/** The same without its groups, and without what only the type of a value can say. */
export type SettingsByName = ReadonlyMap<string, Setting<unknown>>

export function byName(settings: Settings): SettingsByName {
  const found = new Map<string, Setting<unknown>>()
  for (const [name, setting] of Object.values(settings).flatMap((group) => Object.entries(group))) {
    // One of the two would win in silence.
    if (found.has(name)) throw new Error(`${name} stands in two groups of the settings`)
    found.set(name, setting)
  }
  return found
}
