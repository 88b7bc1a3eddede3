import { shortFlags } from './actions.js'
import type { Command } from './command.js'
import { ConfigError } from './config-error.js'
import { showVerbs } from './help-of-verbs.js'
import type { Host } from './host.js'
import { nearest } from './near-miss.js'
import { obey, orRefuse, say } from './run-command.js'
import type { Noun, Verb, Verbs, VerbTable } from './verb.js'

/** Which one is meant, and what is left for it; or what is asked of all of them, or of those of a noun. */
export type Parsed =
  | { readonly kind: 'command'; readonly command: Command; readonly args: readonly string[] }
  | { readonly kind: 'help'; readonly of: Verbs }
  | { readonly kind: 'version' }

/** Runs the verb that is typed first, and gives the exit code. */
export function runVerbs(program: Verbs, host: Host): Promise<number> {
  return orRefuse(program.name, host, async () => {
    const parsed = parseCommand(program, host.argv.slice(2))
    if (parsed.kind === 'help') return say(host, showVerbs(parsed.of))
    if (parsed.kind === 'version') return say(host, `${program.version}\n`)
    const { command, args } = parsed
    return orRefuse(command.name, host, () => obey(command, args, host))
  })
}

export function parseCommand(program: Verbs, [first, ...args]: readonly string[]): Parsed {
  const asked = shortFlags[first ?? '']
  if (first === '--help' || asked === 'help') return { kind: 'help', of: program }
  if (first === '--version' || asked === 'version') return { kind: 'version' }
  const { name, version, verbs, ignoresOtherVariables = false } = program
  // `tenure help log verify` is what some type for `tenure log verify --help`.
  if (first === 'help' && !Object.hasOwn(verbs, first)) {
    return args.length === 0
      ? { kind: 'help', of: program }
      : parseCommand(program, [...args, '--help'])
  }
  const verb = choose(program, first)
  const chosen = { ignoresOtherVariables, ...verb, name: `${name} ${first}`, version }
  return 'verbs' in chosen ? parseCommand(chosen, args) : { kind: 'command', command: chosen, args }
}

function choose(program: Verbs, word: string | undefined): Verb | Noun {
  const { name, verbs } = program
  const known = Object.keys(verbs)
  if (word === undefined) {
    throw new ConfigError(`say which of ${known.join(', ')}. See ${name} --help.`)
  }
  if (word.startsWith('-')) {
    throw new ConfigError(
      `${word} comes too early: first the verb, then its flags. See ${name} --help.`,
    )
  }
  const verb = Object.hasOwn(verbs, word) ? verbs[word] : undefined
  if (verb !== undefined) return verb
  throw new ConfigError(`"${word}" is no verb.${meant(program, word)} See ${name} --help.`)
}

/** Whoever leaves out the noun is shown it. */
function meant({ name, verbs }: Verbs, word: string): string {
  const typed = new Map([...deepVerbs(verbs, `${name} `), ...ownVerbs(verbs)])
  const best = nearest(word, [...typed.keys()])
  return best === undefined ? '' : ` Did you mean ${typed.get(best)}?`
}

function ownVerbs(verbs: VerbTable): [word: string, typed: string][] {
  return ['--help', '--version', ...Object.keys(verbs)].map((word) => [word, word])
}

/** The verbs of nouns, with all that is typed for each. */
function deepVerbs(verbs: VerbTable, before: string): [word: string, typed: string][] {
  return Object.entries(verbs).flatMap(([noun, verb]) => {
    if (!('verbs' in verb)) return []
    const place = `${before}${noun} `
    const own = Object.keys(verb.verbs).map((word): [string, string] => [word, place + word])
    return [...own, ...deepVerbs(verb.verbs, place)]
  })
}
