import type { Host } from '../host.js'
import { ConfigError } from '../settings/given-value.js'
import { nearest } from '../settings/near-miss.js'
import type { Command } from './command.js'
import { shortFlags } from './command-line.js'
import { showVerbs } from './help.js'
import { print, reportConfigErrors, runWithArguments } from './run-command.js'
import { loadVerb, loadVerbs, type Noun, type Verb, type Verbs, type VerbTable } from './verb.js'

/** The command with its own arguments, or a request for help or the version. */
export type Parsed =
  | { readonly kind: 'command'; readonly command: Command; readonly args: readonly string[] }
  | { readonly kind: 'help'; readonly of: Verbs }
  | { readonly kind: 'version' }

/** Runs the verb named by the first argument and returns the exit code. */
export function runVerbs(program: Verbs, host: Host): Promise<number> {
  return reportConfigErrors(program.name, host, async () => {
    const parsed = await parseCommand(program, host.argv.slice(2))
    if (parsed.kind === 'help') return print(host, await showVerbs(parsed.of))
    if (parsed.kind === 'version') return print(host, `${program.version}\n`)
    const { command, args } = parsed
    return reportConfigErrors(command.name, host, () => runWithArguments(command, args, host))
  })
}

export async function parseCommand(
  program: Verbs,
  [first, ...args]: readonly string[],
): Promise<Parsed> {
  const asked = shortFlags[first ?? '']
  if (first === '--help' || asked === 'help') return { kind: 'help', of: program }
  if (first === '--version' || asked === 'version') return { kind: 'version' }
  const { name, version, verbs, ignoresOtherVariables = false } = program
  // `tenure help log verify` equals `tenure log verify --help`.
  if (first === 'help' && !Object.hasOwn(verbs, first)) {
    return args.length === 0
      ? { kind: 'help', of: program }
      : parseCommand(program, [...args, '--help'])
  }
  const verb = await findVerb(program, first)
  const chosen = { ignoresOtherVariables, ...verb, name: `${name} ${first}`, version }
  return 'verbs' in chosen ? parseCommand(chosen, args) : { kind: 'command', command: chosen, args }
}

async function findVerb(program: Verbs, word: string | undefined): Promise<Verb | Noun> {
  const { name, verbs } = program
  const known = Object.keys(verbs)
  if (word === undefined) {
    throw new ConfigError(`a command is required: one of ${known.join(', ')}. See ${name} --help.`)
  }
  if (word.startsWith('-')) {
    throw new ConfigError(
      `${word} must follow the command, as in ${name} <command> ${word}. See ${name} --help.`,
    )
  }
  const verb = Object.hasOwn(verbs, word) ? verbs[word] : undefined
  if (verb !== undefined) return loadVerb(verb)
  throw new ConfigError(
    `unknown command "${word}".${await suggestVerb(program, word)} See ${name} --help.`,
  )
}

/** Also finds nested verbs, and shows them with their groups: `tenure log verify`. */
async function suggestVerb({ name, verbs }: Verbs, word: string): Promise<string> {
  const typed = new Map([...(await nestedVerbs(verbs, `${name} `)), ...directVerbs(verbs)])
  const best = nearest(word, [...typed.keys()])
  return best === undefined ? '' : ` Did you mean ${typed.get(best)}?`
}

function directVerbs(verbs: VerbTable): [word: string, typed: string][] {
  return ['--help', '--version', ...Object.keys(verbs)].map((word) => [word, word])
}

/** Nested verbs, each with all the words to type. */
async function nestedVerbs(
  verbs: VerbTable,
  before: string,
): Promise<[word: string, typed: string][]> {
  const found: [word: string, typed: string][] = []
  for (const [noun, verb] of await loadVerbs(verbs)) {
    if (!('verbs' in verb)) continue
    const place = `${before}${noun} `
    for (const word of Object.keys(verb.verbs)) found.push([word, place + word])
    found.push(...(await nestedVerbs(verb.verbs, place)))
  }
  return found
}
