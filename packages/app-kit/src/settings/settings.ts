import { type Kind, type Source, several } from './kinds.js'

/** One thing that can be set, under one name: `leaseDuration` is --lease-duration and TENURE_LEASE_DURATION. */
export interface Setting<T> {
  readonly kind: Kind<T>
  readonly help: string
  /** Without one it stays unset. */
  readonly fallback?: T
  /** Nothing runs without it. */
  readonly required?: boolean
  /** Where it can be set. If this is left out its kind says where, or else everywhere but as an argument. */
  readonly sources?: readonly Source[]
  /** An argument, the last one, of which there may be many: its value is the list of them. */
  readonly takesSeveral?: boolean
  /** The file it names holds a secret: none but its owner should be able to read it. */
  readonly isSecretFile?: boolean
  /** What the library behind the command calls it in its messages. */
  readonly option?: string
}

/** A setting whose type is read off its kind, its default, and whether it is required. */
export function setting<T, const R extends Omit<Setting<T>, 'kind'>>(kind: Kind<T>, rest: R) {
  return { kind, ...rest }
}

/** A word without a flag. It has to be there, unless it has a default or `required: false`. */
export function argument<T, const R extends Omit<Setting<T>, 'kind' | 'sources' | 'option'>>(
  kind: Kind<T>,
  rest: R,
): Argument<T, R> {
  return { kind, required: true, sources: ['argument'], ...rest } as unknown as Argument<T, R>
}

/** All words that are left: the last argument of a table. There has to be one, unless it is `required: false`. */
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

export function mayStandIn({ kind, sources }: Setting<unknown>, source: Source): boolean {
  return (sources ?? kind.sources)?.includes(source) ?? source !== 'argument'
}

function words(name: string): string[] {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).split(' ')
}

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
