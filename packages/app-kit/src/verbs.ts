import type { Command } from './command.js'
import { ConfigError } from './config-error.js'
import { usage } from './help.js'
import type { Host } from './host.js'
import { suggest } from './near-miss.js'
import { indent, section, wrap } from './paragraphs.js'
import { obey, orRefuse, say } from './run-command.js'
import type { Settings } from './settings.js'

/** A command under the name of another: `get` of `tenure get`. */
export type Verb<S extends Settings = Settings> = Omit<Command<S>, 'name' | 'version'>

/** A command that is several: what is typed first says which. */
export interface Verbs
  extends Pick<Command, 'name' | 'version' | 'summary' | 'ignoresOtherVariables'> {
  readonly verbs: Readonly<Record<string, Verb>>
}

/** Which one is meant, and what is left for it; or what is asked of all of them. */
export type Parsed =
  | { readonly kind: 'command'; readonly command: Command; readonly args: readonly string[] }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }

/** Lets the types of the values follow from the table. */
export function defineVerb<const S extends Settings>(verb: Verb<S>): Verb<S> {
  return verb
}

/** Runs the verb that is typed first, and gives the exit code. */
export function runVerbs(program: Verbs, host: Host): Promise<number> {
  return orRefuse(program.name, host, async () => {
    const parsed = parseCommand(program, host.argv.slice(2))
    if (parsed.kind === 'help') return say(host, showVerbs(program))
    if (parsed.kind === 'version') return say(host, `${program.version}\n`)
    const { command, args } = parsed
    return orRefuse(command.name, host, () => obey(command, args, host))
  })
}

export function parseCommand(program: Verbs, [first, ...args]: readonly string[]): Parsed {
  if (first === '--help' || first === 'help') return { kind: 'help' }
  if (first === '--version') return { kind: 'version' }
  const { name, version, verbs, ignoresOtherVariables = false } = program
  const known = Object.keys(verbs)
  if (first === undefined) {
    throw new ConfigError(`say which of ${known.join(', ')}. See ${name} --help.`)
  }
  if (first.startsWith('-')) {
    throw new ConfigError(
      `${first} comes too early: first the verb, then its flags. See ${name} --help.`,
    )
  }
  const verb = Object.hasOwn(verbs, first) ? verbs[first] : undefined
  if (verb === undefined) {
    throw new ConfigError(`"${first}" is no verb.${suggest(first, known)} See ${name} --help.`)
  }
  const command = { ignoresOtherVariables, ...verb, name: `${name} ${first}`, version }
  return { kind: 'command', command, args }
}

/** Every verb with what it does. */
function showVerbs({ name, summary, verbs }: Verbs): string {
  const entries = Object.entries(verbs).map(([verb, { summary, settings }]) => [
    `  ${usage(verb, settings)}`,
    ...wrap(summary, indent),
  ])
  return [
    `${name} <verb> [flags]`,
    '',
    ...wrap(
      `${summary} ${name} <verb> --help shows what a verb takes. ${name} --version shows the version.`,
      0,
    ),
    '',
    ...section('Verbs', entries),
  ].join('\n')
}
