import {
  argumentOf,
  byName,
  flagOf,
  mayStandIn,
  type Setting,
  variableOf,
} from '../settings/settings.js'

import type { Command, Example } from './command.js'
import { type Action, actions, shortFlags } from './command-line.js'

import { loadVerbs, type Verbs } from './verb.js'

/** Usage, what it does, its settings by group, examples last. */
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
    ...wrap(`${summary} ${precedence(settings)}`, 0),
    '',
    ...groups,
    ...section('Instead of a run', columns(others.map(([name, help]) => [namesOf(name), help]))),
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
    examples.flatMap(({ line, help }) => [...wrap(`# ${help}`, 2), `  ${line}`]),
  )
}

/** What is typed, in short. */
function usage(name: string, settings: Command['settings']): string {
  const args = [...byName(settings)].flatMap(([name, setting]) => {
    if (!mayStandIn(setting, 'argument')) return []
    const isNeeded = setting.required === true && setting.fallback === undefined
    const label = `${argumentOf(name)}${setting.takesSeveral ? '…' : ''}`
    return [isNeeded ? label : `[${label}]`]
  })
  return [name, ...args, '[flags]'].join(' ')
}

function precedence(settings: Command['settings']): string {
  const goes = 'A flag goes before its variable, '
  return byName(settings).has('config')
    ? `${goes}that before the configuration file, and that before the default.`
    : `${goes}and that before the default.`
}

function describe(name: string, setting: Setting<unknown>): Row {
  const { kind, help, fallback } = setting
  const facts = [
    ...(fallback !== undefined ? [`default ${kind.format(fallback)}`] : []),
    ...(mayStandIn(setting, 'flag') && mayStandIn(setting, 'environment')
      ? [variableOf(name)]
      : []),
  ]
  const end = facts.length === 0 ? '' : ` [${facts.join(', ')}]`
  return [headOf(name, setting), `${help}${end}`]
}

function headOf(name: string, setting: Setting<unknown>): string {
  if (mayStandIn(setting, 'argument')) {
    return `${argumentOf(name)}${setting.takesSeveral ? '…' : ''}`
  }
  const label = mayStandIn(setting, 'flag') ? flagOf(name) : variableOf(name)
  return [label, setting.kind.placeholder].filter(Boolean).join(' ')
}

/** Every verb with what it does, in a line or two; what it takes is in the help of its own. */
export async function showVerbs({ name, summary, verbs, examples = [] }: Verbs): Promise<string> {
  const words = (await loadVerbs(verbs)).map(
    ([word, verb]): Row => ['verbs' in verb ? `${word} …` : word, firstSentenceOf(verb.summary)],
  )
  const more = `${name} <verb> --help shows what a verb takes, with examples.`
  return [
    `Usage: ${name} <verb> [flags]`,
    '',
    ...wrap(`${summary} ${more} ${name.split(' ')[0]} --version shows the version.`, 0),
    '',
    ...section('Verbs', columns(words)),
    ...examplesSection(examples),
  ].join('\n')
}

const width = 100

const headWidthMax = 30

/** What something is called, and what it is. */
type Row = readonly [head: string, text: string]

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines, '']
}

/** The rows in two columns. A head that is too wide for its column has a line of its own. */
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

/** A text beside what it is about, and below itself where it is long. */
function hang(head: string, text: string, margin: number): string[] {
  const [first = '', ...rest] = wrap(text, margin)
  return [head.padEnd(margin) + first.slice(margin), ...rest]
}

export function firstSentenceOf(text: string): string {
  return /^.*?[.](?= |$)/s.exec(text)?.[0] ?? text
}
