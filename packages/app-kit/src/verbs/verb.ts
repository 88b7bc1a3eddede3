import type { Settings } from '../settings/settings.js'
import type { Command } from './command.js'

/** A command under the name of another: `get` of `tenure get`. */
export type Verb<S extends Settings = Settings> = Omit<Command<S>, 'name' | 'version'>

/** Verbs that are about the same thing: `log` of `tenure log verify`. There may be nouns among them. */
export interface Noun extends Pick<Command, 'summary' | 'examples'> {
  readonly verbs: VerbTable
}

/** By the word that is typed, in the order in which the help shows them. */
export interface VerbTable {
  readonly [word: string]: Verb | Noun | LoadVerb
}

/** Brings a verb when it is typed: whoever types one does not wait for the code of all the others. */
type LoadVerb = () => Promise<Verb | Noun>

/** A command that is several: what is typed first says which. */
export interface Verbs extends Noun, Pick<Command, 'name' | 'version' | 'ignoresOtherVariables'> {}

/** Lets the types of the values follow from the table. */
export function defineVerb<const S extends Settings>(verb: Verb<S>): Verb<S> {
  return verb
}

export async function loadVerb(verb: VerbTable[string]): Promise<Verb | Noun> {
  return typeof verb === 'function' ? verb() : verb
}

/** All of them, for whoever shows or completes them. */
export function loadVerbs(verbs: VerbTable): Promise<[word: string, verb: Verb | Noun][]> {
  const entries = Object.entries(verbs)
  return Promise.all(entries.map(async ([word, verb]) => [word, await loadVerb(verb)]))
}
