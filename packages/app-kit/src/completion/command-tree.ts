import { acceptsSource, byName, flagOf, type Setting } from '../settings/settings.js'

import { actionNames, actions } from '../verbs/command-line.js'
import { firstSentenceOf } from '../verbs/help.js'
import { loadVerbs, type Noun, type Verb } from '../verbs/verb.js'

/** A word that completion can offer, with its help. */
export interface Word {
  readonly word: string
  readonly help: string
}

/** The values that a flag or an argument accepts. */
export type Value =
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  | { readonly kind: 'file' }
  | { readonly kind: 'any' }

export interface Flag extends Word {
  readonly value?: Value
}

/** A command, or a group of commands, with the words that may follow it. */
export interface CommandNode {
  /** The words typed so far, without the name of the program. */
  readonly path: readonly string[]
  readonly verbs: readonly Word[]
  readonly flags: readonly Flag[]
  /** The values of the arguments. */
  readonly values: readonly Value[]
}

/** The program itself first, then every command below it. */
export async function commandNodes(
  program: Noun,
  path: readonly string[] = [],
): Promise<CommandNode[]> {
  const entries = await loadVerbs(program.verbs)
  const verbs = entries.map(([word, { summary }]) => ({ word, help: shorten(summary) }))
  const own = { path, verbs, flags: actionsAmong(['help', 'version']), values: [] }
  const below = entries.map(([word, verb]) => nodesBelow(verb, [...path, word]))
  return [own, ...(await Promise.all(below)).flat()]
}

async function nodesBelow(verb: Verb | Noun, path: readonly string[]): Promise<CommandNode[]> {
  if ('verbs' in verb) return commandNodes(verb, path)
  const settings = [...byName(verb.settings)]
  const flags = settings.flatMap(([name, setting]) => {
    return acceptsSource(setting, 'flag') ? [flagFor(name, setting)] : []
  })
  const values = settings.flatMap(([, setting]) => {
    return acceptsSource(setting, 'argument') ? [valueFor(setting)] : []
  })
  return [{ path, verbs: [], flags: [...flags, ...actionsAmong(actionNames)], values }]
}

function flagFor(name: string, setting: Setting<unknown>): Flag {
  const flag = { word: flagOf(name), help: shorten(setting.help) }
  return setting.kind.placeholder === undefined ? flag : { ...flag, value: valueFor(setting) }
}

const files = ['<file>', '<dir>', '<directory>']

function valueFor({ kind }: Setting<unknown>): Value {
  if (kind.choices !== undefined) return { kind: 'choice', choices: kind.choices }
  return { kind: files.includes(kind.placeholder ?? '') ? 'file' : 'any' }
}

function actionsAmong(names: typeof actionNames): Flag[] {
  return names.map((name) => ({ word: flagOf(name), help: shorten(actions[name]) }))
}

const helpLengthMax = 70

/** Completion lists have one line per word. */
function shorten(help: string): string {
  const sentence = firstSentenceOf(help).replace(/\.$/, '')
  return sentence.length > helpLengthMax ? `${sentence.slice(0, helpLengthMax - 1)}…` : sentence
}
