import type { Place, Word } from './places.js'
import { choicesOf, flagsWith, pathText, quote, verbPatterns } from './shell-text.js'

/** Shows each word with its help. */
export function zshCompletion(name: string, places: readonly Place[]): string {
  const own = `_${name.replace(/\W/g, '_')}`
  return `#compdef ${name}
# Completion of ${name} for zsh: ${name} completion zsh > "\${fpath[1]}/${own}"
${own}() {
  local place='' i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    case "$place \${words[i]}" in
      (${verbPatterns(places)}) place="$place \${words[i]}" ;;
    esac
  done
  case "$place \${words[CURRENT-1]}" in
${valueCases(places)}
  esac
  case "$place" in
${places.map(wordCase).join('\n')}
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

function valueCases(places: readonly Place[]): string {
  const joined = (kind: 'file' | 'any') => flagsWith(places, kind).map(({ pattern }) => pattern)
  return [
    ...flagsWith(places, 'choice').map(
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

function wordCase(place: Place): string {
  const { verbs, flags, values } = place
  const choices = choicesOf(values).map((word) => quote(word))
  const all = [...choices, ...[...verbs, ...flags].map(describe)].join(' ')
  const files = values.some(({ kind }) => kind === 'file') ? ' _files;' : ''
  return `    (${quote(pathText(place))})${files} found=(${all}) ;;`
}

/** zsh separates a word from its description by a colon. */
function describe({ word, help }: Word): string {
  return quote(`${word}:${help.replaceAll(':', '\\:')}`)
}
