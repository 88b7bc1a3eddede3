import type { Settings } from '../settings/settings.js'
import type { Command } from './command.js'

/** A command within a program: `get` of `tenure get`. */
export type Verb<S extends Settings = Settings> = Omit<Command<S>, 'name' | 'version'>

/** A group of verbs, such as `log` of `tenure log verify`. Groups may be nested. */
export interface Noun extends Pick<Command, 'summary' | 'examples'> {
  readonly verbs: VerbTable
}

/** Verbs by the word to type, in the order of the help. */
export interface VerbTable {
  readonly [word: string]: Verb | Noun | LoadVerb
}

/** Loads a verb on demand, so that running one verb does not load the code of all. */
type LoadVerb = () => Promise<Verb | Noun>

/** A program with several verbs. */
export interface Verbs extends Noun, Pick<Command, 'name' | 'version' | 'ignoresOtherVariables'> {}

/** Infers the types of the values from the table. */
export function defineVerb<const S extends Settings>(verb: Verb<S>): Verb<S> {
  return verb
}

export async function loadVerb(verb: VerbTable[string]): Promise<Verb | Noun> {
  return typeof verb === 'function' ? verb() : verb
}

export function loadVerbs(verbs: VerbTable): Promise<[word: string, verb: Verb | Noun][]> {
  const entries = Object.entries(verbs)
  return Promise.all(entries.map(async ([word, verb]) => [word, await loadVerb(verb)]))
}
