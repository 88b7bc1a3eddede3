import { byName, flagOf, mayStandIn, type Setting } from '../settings/settings.js'

import { actionNames, actions } from '../verbs/command-line.js'
import { firstSentenceOf } from '../verbs/help.js'
import { loadVerbs, type Noun, type Verb } from '../verbs/verb.js'

/** A word that can be typed somewhere, with what it means. */
export interface Word {
  readonly word: string
  readonly help: string
}

/** What may be typed as the value of a flag, or in the place of an argument. */
export type Value =
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  | { readonly kind: 'file' }
  | { readonly kind: 'any' }

/** A flag, and what comes behind it, if anything does. */
export interface Flag extends Word {
  readonly value?: Value
}

/** Where one can be on a command line, told by the verbs that have been typed. */
export interface Place {
  readonly path: readonly string[]
  readonly verbs: readonly Word[]
  readonly flags: readonly Flag[]
  /** What the arguments may be. */
  readonly values: readonly Value[]
}

/** Every place of a program, itself first. */
export async function placesOf(program: Noun, path: readonly string[] = []): Promise<Place[]> {
  const entries = await loadVerbs(program.verbs)
  const verbs = entries.map(([word, { summary }]) => ({ word, help: shorten(summary) }))
  const own = { path, verbs, flags: actionsAmong(['help', 'version']), values: [] }
  const below = entries.map(([word, verb]) => placesBelow(verb, [...path, word]))
  return [own, ...(await Promise.all(below)).flat()]
}

async function placesBelow(verb: Verb | Noun, path: readonly string[]): Promise<Place[]> {
  if ('verbs' in verb) return placesOf(verb, path)
  const settings = [...byName(verb.settings)]
  const flags = settings.flatMap(([name, setting]) => {
    return mayStandIn(setting, 'flag') ? [flagFor(name, setting)] : []
  })
  const values = settings.flatMap(([, setting]) => {
    return mayStandIn(setting, 'argument') ? [valueFor(setting)] : []
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

/** A list in a terminal has room for a line. */
function shorten(help: string): string {
  const sentence = firstSentenceOf(help).replace(/\.$/, '')
  return sentence.length > helpLengthMax ? `${sentence.slice(0, helpLengthMax - 1)}…` : sentence
}
