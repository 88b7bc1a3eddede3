import { type Action, actions } from './flags.js'
import { flagOf, mayStandIn, type Setting, variableOf } from './setting.js'
import { groups } from './settings.js'

const width = 100
const indent = 6

/** Every setting with its default and its variable, by group. */
export function showHelp(): string {
  const parts = Object.entries(groups).map(([title, group]) => {
    const entries = Object.entries<Setting<unknown>>(group)
    return section(
      title,
      entries.map(([name, setting]) => describe(name, setting)),
    )
  })
  const others = Object.entries(actions) as [Action, string][]
  return [
    'tenure-coordinator [flags]',
    '',
    ...wrap(introduction, 0),
    '',
    ...parts.flat(),
    ...section(
      'Instead of a start',
      others.map(([name, help]) => [`  ${flagOf(name)}`, ...wrap(help, indent)]),
    ),
  ].join('\n')
}

const introduction =
  'Runs the coordinator of Tenure: keeps its log in a directory, serves clients and workers, and ' +
  'stops on SIGTERM or SIGINT. A flag goes before its variable, that before the configuration file, ' +
  'and that before the default.'

function section(title: string, entries: readonly (readonly string[])[]): string[] {
  return [`${title}:`, ...entries.flat(), '']
}

function describe(name: string, setting: Setting<unknown>): string[] {
  const { kind, help, fallback } = setting
  const flag = mayStandIn(setting, 'flag') ? flagOf(name) : variableOf(name)
  const head = `  ${[flag, kind.placeholder].filter(Boolean).join(' ')}`
  const facts = [
    ...(fallback !== undefined ? [`default ${kind.format(fallback)}`] : []),
    ...(flag === variableOf(name) ? [] : [variableOf(name)]),
  ]
  const end = facts.length === 0 ? '' : ` [${facts.join(', ')}]`
  return [head, ...wrap(`${help}${end}`, indent)]
}

function wrap(text: string, margin: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && margin + line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line].map((text) => ' '.repeat(margin) + text)
}
