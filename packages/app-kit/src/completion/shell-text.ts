import type { CommandNode, Flag, Value } from './command-tree.js'

/** Quotes a text as one word of bash or zsh. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** The path as the scripts keep it: each word with a space before it. */
export function pathText({ path }: CommandNode): string {
  return path.map((word) => ` ${word}`).join('')
}

/** The `case` patterns of all commands. */
export function verbPatterns(nodes: readonly CommandNode[]): string {
  return nodes
    .slice(1)
    .map((node) => quote(pathText(node)))
    .join(' | ')
}

/** The `case` patterns of all flags whose value is of this kind. */
export function flagsWith(nodes: readonly CommandNode[], kind: Value['kind']): FlagAt[] {
  return nodes.flatMap((node) =>
    node.flags.flatMap((flag) => {
      const { value } = flag
      return value?.kind === kind
        ? [{ pattern: quote(`${pathText(node)} ${flag.word}`), value }]
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
