import type { Flag, Place, Value } from './places.js'

/** As one word of bash or zsh, whatever is in it. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Behind what is typed at a place, as the scripts keep it: each verb with a space before it. */
export function pathText({ path }: Place): string {
  return path.map((word) => ` ${word}`).join('')
}

/** The patterns of a `case` for every verb under every path. */
export function verbPatterns(places: readonly Place[]): string {
  return places
    .slice(1)
    .map((place) => quote(pathText(place)))
    .join(' | ')
}

/** Flags with a value of one kind, each behind the path of its place. */
export function flagsWith(places: readonly Place[], kind: Value['kind']): FlagAt[] {
  return places.flatMap((place) =>
    place.flags.flatMap((flag) => {
      const { value } = flag
      return value?.kind === kind
        ? [{ pattern: quote(`${pathText(place)} ${flag.word}`), value }]
        : []
    }),
  )
}

export interface FlagAt {
  readonly pattern: string
  readonly value: NonNullable<Flag['value']>
}

export function choicesOf(values: readonly Value[]): string[] {
  return values.flatMap((value) => (value.kind === 'choice' ? value.choices : []))
}
