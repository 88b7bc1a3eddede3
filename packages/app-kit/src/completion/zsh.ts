import type { CommandNode, Word } from './command-tree.js'
import { choicesOf, flagsWith, pathText, quote, verbPatterns } from './shell-text.js'

/** Shows each word with its help. */
export function zshCompletion(name: string, nodes: readonly CommandNode[]): string {
  const own = `_${name.replace(/\W/g, '_')}`
  return `#compdef ${name}
# Completion of ${name} for zsh: ${name} completion zsh > "\${fpath[1]}/${own}"
${own}() {
  local node='' i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    case "$node \${words[i]}" in
      (${verbPatterns(nodes)}) node="$node \${words[i]}" ;;
    esac
  done
  case "$node \${words[CURRENT-1]}" in
${valueCases(nodes)}
  esac
  case "$node" in
${nodes.map(wordCase).join('\n')}
  esac
  _describe ${quote(name)} found
}
if [[ "\${funcstack[1]}" == ${own} ]]; then
  ${own} "$@"
else
  compdef ${own} ${name}
fi
`
}

function valueCases(nodes: readonly CommandNode[]): string {
  const joined = (kind: 'file' | 'any') => flagsWith(nodes, kind).map(({ pattern }) => pattern)
  return [
    ...flagsWith(nodes, 'choice').map(
      ({ pattern, value }) =>
        `    (${pattern}) compadd -- ${choicesOf([value]).map(quote).join(' ')}; return ;;`,
    ),
    ...some(joined('file'), '_files; return'),
    ...some(joined('any'), '_message value; return'),
  ].join('\n')
}

function some(patterns: readonly string[], action: string): string[] {
  return patterns.length === 0 ? [] : [`    (${patterns.join(' | ')}) ${action} ;;`]
}

function wordCase(node: CommandNode): string {
  const { verbs, flags, values } = node
  const choices = choicesOf(values).map((word) => quote(word))
  const all = [...choices, ...[...verbs, ...flags].map(describe)].join(' ')
  const files = values.some(({ kind }) => kind === 'file') ? ' _files;' : ''
  return `    (${quote(pathText(node))})${files} found=(${all}) ;;`
}

/** zsh separates a word from its description by a colon. */
function describe({ word, help }: Word): string {
  return quote(`${word}:${help.replaceAll(':', '\\:')}`)
}
