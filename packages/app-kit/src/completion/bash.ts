import type { CommandNode } from './command-tree.js'
import { choicesOf, flagsWith, pathText, quote, verbPatterns } from './shell-text.js'

/** Works from bash 3.2 on, the version that macOS ships. */
export function bashCompletion(name: string, nodes: readonly CommandNode[]): string {
  const own = `_${name.replace(/\W/g, '_')}`
  return `# Completion of ${name} for bash: source <(${name} completion bash)
${own}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path='' words='' files='' i
  # bash splits --flag=value into three words.
  if [[ $cur == '=' ]]; then
    cur=''
  elif [[ $prev == '=' ]]; then
    prev=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path \${COMP_WORDS[i]}" in
      ${verbPatterns(nodes)}) path="$path \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path $prev" in
${valueCases(nodes)}
    *)
      case "$path" in
${nodes.map(wordCase).join('\n')}
      esac
      # A word that begins with a dash is a flag, not a file.
      [[ $cur == -* ]] && files=''
      ;;
  esac
  local IFS=$'\\n'
  if [[ -n $files ]]; then
    compopt -o filenames 2> /dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
  else
    COMPREPLY=($(compgen -W "\${words// /$IFS}" -- "$cur"))
  fi
}
complete -F ${own} ${name}
`
}

function valueCases(nodes: readonly CommandNode[]): string {
  const joined = (kind: 'file' | 'any') => flagsWith(nodes, kind).map(({ pattern }) => pattern)
  return [
    ...flagsWith(nodes, 'choice').map(
      ({ pattern, value }) => `    ${pattern}) words=${quote(choicesOf([value]).join(' '))} ;;`,
    ),
    ...some(joined('file'), 'files=yes'),
    // The values of these flags are free text: offer nothing.
    ...some(joined('any'), "words=''"),
  ].join('\n')
}

function some(patterns: readonly string[], action: string): string[] {
  return patterns.length === 0 ? [] : [`    ${patterns.join(' | ')}) ${action} ;;`]
}

function wordCase(node: CommandNode): string {
  const { verbs, flags, values } = node
  const words = [...verbs, ...flags].map(({ word }) => word)
  const all = [...choicesOf(values), ...words].join(' ')
  const files = values.some(({ kind }) => kind === 'file') ? ' files=yes' : ''
  return `        ${quote(pathText(node))}) words=${quote(all)}${files} ;;`
}
