import type { Flag, Place, Value } from './places.js'

/** Quotes a text as one word of bash or zsh. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** The path as the scripts keep it: each word with a space before it. */
export function pathText({ path }: Place): string {
  return path.map((word) => ` ${word}`).join('')
}

/** The `case` patterns of all commands. */
export function verbPatterns(places: readonly Place[]): string {
  return places
    .slice(1)
    .map((place) => quote(pathText(place)))
    .join(' | ')
}

/** The `case` patterns of all flags whose value is of this kind. */
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
