import type { CommandNode, Flag } from './command-tree.js'
import { choicesOf, pathText } from './shell-text.js'

/** Shows each word with its help. */
export function fishCompletion(name: string, nodes: readonly CommandNode[]): string {
  const own = `__${name.replace(/\W/g, '_')}_at`
  const paths = nodes.slice(1).map((node) => quote(pathText(node)))
  return `# Completion of ${name} for fish: ${name} completion fish > ~/.config/fish/completions/${name}.fish
# True after the words of this path.
function ${own}
  set -l node ''
  set -l typed (commandline -opc)
  for word in $typed[2..-1]
    if contains -- "$node $word" ${paths.join(' ')}
      set node "$node $word"
    end
  end
  test "$node" = "$argv[1]"
end
complete -c ${name} -f
${nodes.map((node) => linesFor(name, own, node)).join('\n')}
`
}

function linesFor(name: string, own: string, node: CommandNode): string {
  const at = `complete -c ${name} -n ${quote(`${own} "${pathText(node)}"`)}`
  const { verbs, flags, values } = node
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
