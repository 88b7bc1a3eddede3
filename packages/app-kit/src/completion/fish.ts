import type { Flag, Place } from './places.js'
import { choicesOf, pathText } from './shell-text.js'

/** Shows each word with its help. */
export function fishCompletion(name: string, places: readonly Place[]): string {
  const own = `__${name.replace(/\W/g, '_')}_at`
  const paths = places.slice(1).map((place) => quote(pathText(place)))
  return `# Completion of ${name} for fish: ${name} completion fish > ~/.config/fish/completions/${name}.fish
# True after the words of this path.
function ${own}
  set -l place ''
  set -l typed (commandline -opc)
  for word in $typed[2..-1]
    if contains -- "$place $word" ${paths.join(' ')}
      set place "$place $word"
    end
  end
  test "$place" = "$argv[1]"
end
complete -c ${name} -f
${places.map((place) => linesFor(name, own, place)).join('\n')}
`
}

function linesFor(name: string, own: string, place: Place): string {
  const at = `complete -c ${name} -n ${quote(`${own} "${pathText(place)}"`)}`
  const { verbs, flags, values } = place
  const choices = choicesOf(values)
  return [
    ...verbs.map(({ word, help }) => `${at} -a ${word} -d ${quote(help)}`),
    ...(choices.length > 0 ? [`${at} -a ${quote(choices.join(' '))}`] : []),
    ...(values.some(({ kind }) => kind === 'file') ? [`${at} -F`] : []),
    ...flags.map((flag) => `${at} ${describe(flag)} -d ${quote(flag.help)}`),
  ].join('\n')
}

function describe({ word, value }: Flag): string {
  const flag = `-l ${word.slice(2)}`
  switch (value?.kind) {
    case undefined:
      return flag
    case 'file':
      return `${flag} -r -F`
    case 'choice':
      return `${flag} -x -a ${quote(choicesOf([value]).join(' '))}`
    case 'any':
      return `${flag} -x`
  }
}

/** Unlike bash and zsh, fish has escapes inside single quotes. */
function quote(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&')}'`
}
