import type { Kind } from '../settings/kinds.js'
import {
  acceptsSource,
  argumentOf,
  byName,
  flagOf,
  type Setting,
  variableOf,
} from '../settings/settings.js'
import type { Command, Example } from './command.js'
import { type Action, actions, shortFlags } from './command-line.js'

import { loadVerbs, type Verbs } from './verb.js'

/** Usage, summary, settings by group, then examples. */
export function showHelp({ name, summary, settings, examples = [] }: Command): string {
  const groups = Object.entries(settings).flatMap(([title, group]) =>
    section(
      title,
      columns(Object.entries(group).map(([name, setting]) => describe(name, setting))),
    ),
  )
  const others = Object.entries(actions) as [Action, string][]
  return [
    `Usage: ${usage(name, settings)}`,
    '',
    ...wrap(`${summary} ${precedence(settings)}`.trim(), 0),
    '',
    ...groups,
    ...section('General', columns(others.map(([name, help]) => [namesOf(name), phrase(help)]))),
    ...examplesSection(examples),
  ].join('\n')
}

/** `--help, -h`. */
function namesOf(action: Action): string {
  const short = Object.keys(shortFlags).filter((flag) => shortFlags[flag] === action)
  return [flagOf(action), ...short].join(', ')
}

function examplesSection(examples: readonly Example[]): string[] {
  return section(
    'Examples',
    examples.flatMap(({ line, help }) => [...wrap(`# ${phrase(help)}`, 2), `  ${line}`]),
  )
}

function usage(name: string, settings: Command['settings']): string {
  const args = [...byName(settings)].flatMap(([name, setting]) => {
    if (!acceptsSource(setting, 'argument')) return []
    const isNeeded = setting.required === true && setting.fallback === undefined
    const label = `${argumentOf(name)}${setting.takesSeveral ? '…' : ''}`
    return [isNeeded ? label : `[${label}]`]
  })
  return [name, ...args, '[flags]'].join(' ')
}

function precedence(settings: Command['settings']): string {
  const all = byName(settings)
  if (![...all.values()].some((setting) => acceptsSource(setting, 'environment'))) return ''
  const file = all.has('config') ? 'configuration file, ' : ''
  return `The name in brackets after a flag is the environment variable that also sets it. Precedence: flags, environment variables, ${file}defaults.`
}

function describe(name: string, setting: Setting<unknown>): Row {
  const { kind, help, fallback } = setting
  const hasDefault = fallback !== undefined && fallback !== false
  const hasVariable = acceptsSource(setting, 'flag') && acceptsSource(setting, 'environment')
  const facts = [
    ...(hasDefault ? [`(default ${shownDefault(kind, fallback)})`] : []),
    ...(hasVariable ? [`[${variableOf(name)}]`] : []),
  ]
  return [headOf(name, setting), [phrase(help), ...facts].join(' ')]
}

/** Quotes free text: the queue "default" is not a keyword. */
function shownDefault(kind: Kind<unknown>, fallback: unknown): string {
  const shown = kind.format(fallback)
  const isText = typeof fallback === 'string' || Array.isArray(fallback)
  return isText && kind.choices === undefined ? `"${shown}"` : shown
}

function headOf(name: string, setting: Setting<unknown>): string {
  if (acceptsSource(setting, 'argument')) {
    return `${argumentOf(name)}${setting.takesSeveral ? '…' : ''}`
  }
  const { placeholder } = setting.kind
  if (!acceptsSource(setting, 'flag')) return `${variableOf(name)}=${placeholder}`
  return [flagOf(name), placeholder].filter(Boolean).join(' ')
}

/** Lists each verb with the first sentence of its summary. */
export async function showVerbs({ name, summary, verbs, examples = [] }: Verbs): Promise<string> {
  const words = (await loadVerbs(verbs)).map(
    ([word, verb]): Row => [
      'verbs' in verb ? `${word} …` : word,
      phrase(firstSentenceOf(verb.summary)),
    ],
  )
  const more = `Run ${name} <command> --help for the flags and examples of a command.`
  return [
    `Usage: ${name} <command> [flags]`,
    '',
    ...wrap(`${summary} ${more}`, 0),
    '',
    ...section('Commands', columns(words)),
    ...examplesSection(examples),
  ].join('\n')
}

const width = 100

const headWidthMax = 30

type Row = readonly [head: string, text: string]

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines, '']
}

/** Two columns. A head that is too wide gets a line of its own. */
function columns(rows: readonly Row[]): string[] {
  const margin = Math.min(headWidthMax, Math.max(...rows.map(([head]) => head.length))) + 4
  return rows.flatMap(([head, text]) =>
    head.length + 4 > margin
      ? [`  ${head}`, ...wrap(text, margin)]
      : hang(`  ${head}`, text, margin),
  )
}

export function wrap(text: string, margin: number): string[] {
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

/** Writes the text beside its head; further lines are indented. */
function hang(head: string, text: string, margin: number): string[] {
  const [first = '', ...rest] = wrap(text, margin)
  return [head.padEnd(margin) + first.slice(margin), ...rest]
}

/** Help in a list ends without a full stop. */
function phrase(help: string): string {
  return help.replace(/\.$/, '')
}

export function firstSentenceOf(text: string): string {
  return /^.*?[.](?= |$)/s.exec(text)?.[0] ?? text
}
