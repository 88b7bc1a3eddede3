import { type Kind, type Source, several } from './kinds.js'

/** A setting. Its name `leaseDuration` makes `--lease-duration` and `TENURE_LEASE_DURATION`. */
export interface Setting<T> {
  readonly kind: Kind<T>
  readonly help: string
  /** The default. Without one, the value may be `undefined`. */
  readonly fallback?: T
  /** The command does not run without a value. */
  readonly required?: boolean
  /** The allowed sources. Default: those of the kind, or all but `argument`. */
  readonly sources?: readonly Source[]
  /** The last argument takes all remaining words as a list. */
  readonly takesSeveral?: boolean
  /** The file holds a secret: a service warns if other users can read it. */
  readonly isSecretFile?: boolean
  /** The name of this setting in the messages of the library behind the command. */
  readonly option?: string
}

/** Infers the type of the value from the kind, the default and `required`. */
export function setting<T, const R extends Omit<Setting<T>, 'kind'>>(kind: Kind<T>, rest: R) {
  return { kind, ...rest }
}

/** A positional argument. Required, unless it has a default or `required: false`. */
export function argument<T, const R extends Omit<Setting<T>, 'kind' | 'sources' | 'option'>>(
  kind: Kind<T>,
  rest: R,
): Argument<T, R> {
  return { kind, required: true, sources: ['argument'], ...rest } as unknown as Argument<T, R>
}

/** The last argument, which takes all remaining words. At least one, unless `required: false`. */
export function severalArguments<
  T,
  const R extends Omit<
    Setting<readonly T[]>,
    'kind' | 'sources' | 'option' | 'fallback' | 'takesSeveral'
  >,
>(kind: Kind<T>, rest: R): Argument<readonly T[], R> {
  return argument(several(kind), { takesSeveral: true, ...rest })
}

type Argument<T, R> = { readonly kind: Kind<T>; readonly sources: readonly ['argument'] } & R &
  (R extends { readonly required: boolean } ? unknown : { readonly required: true })

export function flagOf(name: string): string {
  return `--${words(name).join('-')}`
}

export function variableOf(name: string): string {
  return `${variablePrefix}${words(name).join('_').toUpperCase()}`
}

export function argumentOf(name: string): string {
  return `<${words(name).join('-')}>`
}

export const variablePrefix = 'TENURE_'

export function acceptsSource({ kind, sources }: Setting<unknown>, source: Source): boolean {
  return (sources ?? kind.sources)?.includes(source) ?? source !== 'argument'
}

function words(name: string): string[] {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).split(' ')
}

/** Settings by group, as the help shows them, then by name. */
export type Settings = Readonly<Record<string, Readonly<Record<string, Setting<unknown>>>>>

export type SettingName<S extends Settings> = { [G in keyof S]: keyof S[G] }[keyof S] & string

/** The values of a table of settings. */
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

/** The settings of all groups by name, without the types of their values. */
export type SettingsByName = ReadonlyMap<string, Setting<unknown>>

export function byName(settings: Settings): SettingsByName {
  const found = new Map<string, Setting<unknown>>()
  for (const [name, setting] of Object.values(settings).flatMap((group) => Object.entries(group))) {
    // Otherwise one would silently replace the other.
    if (found.has(name)) throw new Error(`${name} is in two groups of the settings`)
    found.set(name, setting)
  }
  return found
}
