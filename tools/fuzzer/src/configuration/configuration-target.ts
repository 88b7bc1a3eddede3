import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  ConfigError,
  flagOf,
  type Host,
  printable,
  runCommand,
  type SettingsByName,
  variableOf,
} from '@tenure/app-kit'
import { holds, Violation } from '@tenure/harness'
import type { Random } from '@tenure/testing'
import type { Input, Step } from '../input/input.js'
import { mutateBytes, mutateSteps, pickOf, replaced } from '../input/mutation.js'
import type { Target } from '../input/target.js'
import { untyped } from '../input/violation.js'
import { loadPrograms, type Program, type Refusal } from './programs.js'
import { anyJson, anyText } from './settings-text.js'

/** A fault can be put between a program and whoever configures it. */
export type Wrap = (program: Program) => Program

/** Of tokens and passphrases there is one, so that it is known wherever it turns up. */
const secret = 'opensesame-41c7'

/** Stand for files that a step of their kind has written. */
const fileKinds = ['config-file', 'token-file', 'tokens-file'] as const

/**
 * Words and variables for a program, and the files that they name: `{config-file}` in a text stands
 * for the path of the file that the step of that kind holds.
 */
export function configurationTarget(wrap: Wrap = (program) => program): Target {
  let programs: readonly Program[] | undefined
  const directory = mkdtempSync(join(tmpdir(), 'tenure-fuzzer-'))
  // Where somebody ends the process, too.
  const remove = () => rmSync(directory, { recursive: true, force: true })
  process.once('exit', remove)
  const programOf = (list: readonly Program[], input: Input) => {
    const { at = 0 } = input.find(({ kind }) => kind === 'program') ?? {}
    return list[at % list.length]!
  }
  return {
    name: 'configuration',
    generate(random) {
      const first = { kind: 'program', at: random.integer(60) }
      if (programs === undefined) return [first]
      const { settings } = programOf(programs, [first])
      const count = 1 + random.integer(4)
      const steps = Array.from({ length: count }, () => anySteps(random, settings))
      // Without something to run no worker says anything else.
      const runs = settings.has('exec') && random.chance(0.6) ? [word('--exec'), word('cat')] : []
      return [first, ...runs, ...steps.flat()]
    },
    mutate(random, input, other) {
      if (programs === undefined) return input
      const { settings } = programOf(programs, input)
      const [first = { kind: 'program', at: 0 }, ...steps] = input
      const change = random.pick([
        () => [...steps, ...anySteps(random, settings)],
        () => mutateText(random, steps),
        () => mutateText(random, steps),
        () => mutateSteps(random, steps, other.slice(1)),
      ])
      return [first, ...change()]
    },
    async run(input) {
      programs ??= (await loadPrograms()).map(wrap)
      return configureOnce(programOf(programs, input), directory, input)
    },
    close() {
      process.off('exit', remove)
      remove()
    },
  }
}

function word(text: string): Step {
  return { kind: 'word', text }
}

/** One setting, in one of the places where it can stand. */
function anySteps(random: Random, settings: SettingsByName): Step[] {
  const isAboutSecrets = random.chance(0.1)
  const [name, setting] = random.pick(
    [...settings].filter(([, { kind }]) => !isAboutSecrets || kind.isSecret === true),
  )
  const value = anyText(random, setting)
  const isSecret = setting.kind.isSecret === true
  return random.pick<() => Step[]>([
    () => [word(flagOf(name)), word(isSecret ? secret : value)],
    () => [word(flagOf(name)), word(isSecret ? secret : value)],
    () => [word(`${flagOf(name)}=${isSecret ? secret : value}`)],
    () => [word(random.chance(0.5) ? flagOf(name) : value)],
    () => [{ kind: 'variable', name: variableOf(name), text: isSecret ? secret : value }],
    () => [{ kind: 'variable', name: variableOf(name), text: isSecret ? secret : value }],
    () => [
      ...file(random, 'config-file', '--config'),
      { kind: 'config-file', text: configFile(random, settings) },
    ],
    () => [
      ...file(random, 'token-file', '--token-file'),
      {
        kind: 'token-file',
        text: random.pick([secret, `${secret}\n`, '', ' ', secret.repeat(90)]),
      },
    ],
    () => [
      ...file(random, 'tokens-file', '--tokens-file'),
      { kind: 'tokens-file', text: tokensFile(random) },
    ],
  ])()
}

function file(random: Random, kind: string, flag: string): Step[] {
  return random.chance(0.1) ? [word(flag)] : [word(flag), word(`{${kind}}`)]
}

function configFile(random: Random, settings: SettingsByName): string {
  const entries = Array.from({ length: 1 + random.integer(4) }, () => {
    const [name, setting] = random.pick([...settings])
    const isSecret = setting.kind.isSecret === true
    return [random.chance(0.95) ? name : `${name}x`, isSecret ? secret : anyJson(random, setting)]
  })
  return JSON.stringify(Object.fromEntries(entries))
}

function tokensFile(random: Random): string {
  const roles = random.pick<unknown>([
    { admin: [secret] },
    { produce: [secret, `${secret}2`], work: [secret] },
    { produce: [] },
    { boss: [secret] },
    { work: secret },
    { work: [{ token: secret }] },
    { work: [1, null, ''] },
    [secret],
    secret,
  ])
  return JSON.stringify(roles)
}

/** As if somebody had mistyped, or written another file than was meant. */
function mutateText(random: Random, steps: Input): Input {
  const step = pickOf(
    random,
    steps.filter(({ text }) => text !== undefined),
  )
  if (step === undefined) return steps
  const bytes = mutateBytes(random, Buffer.from(step.text!))
  // No program is given a word with a zero in it, and none that is not UTF-8.
  const text = Buffer.from(bytes).toString().replaceAll('\0', '')
  return replaced(steps, step, { ...step, text })
}

async function configureOnce(program: Program, directory: string, input: Input): Promise<string> {
  const paths = writeFiles(directory, input)
  const fill = (text: string) =>
    fileKinds.reduce((filled, kind) => filled.replaceAll(`{${kind}}`, paths.get(kind)!), text)
  const args = input.flatMap(({ kind, text }) => (kind === 'word' ? [fill(text ?? '')] : []))
  const env = Object.fromEntries(
    input.flatMap(({ kind, name, text }) =>
      kind === 'variable' ? [[name ?? '', fill(text ?? '')]] : [],
    ),
  )
  const scene: Scene = { program, args, env, paths: [...paths.values()] }
  const shown = await printConfiguration(scene)
  if (shown !== undefined) return `${program.name} refused: ${shape(scene, shown)}`
  const refusal = await start(scene)
  if (refusal === undefined) return `${program.name} starts with ${kindsOf(input)}`
  return `${program.name} does not start: ${shape(scene, refusal.message)}`
}

interface Scene {
  readonly program: Program
  readonly args: readonly string[]
  readonly env: Record<string, string>
  readonly paths: readonly string[]
}

/** As it runs for whoever only wants to see; gives the one line of the refusal. */
async function printConfiguration(scene: Scene): Promise<string | undefined> {
  const { program, args, env } = scene
  const out: string[] = []
  const err: string[] = []
  const host: Host = {
    argv: ['node', program.name, '--print-config', ...args],
    env: { ...env },
    stdout: { fd: 1, write: (text) => out.push(String(text)) },
    stderr: { fd: 2, write: (text) => err.push(String(text)) },
    on: () => {},
    exit: (code) => {
      throw new Violation('who only looks starts nothing', `it ended with ${code}`)
    },
  }
  const code = await runCommand(program.command, host)
  const said = err.join('')
  checkSilence(scene, out.join('') + said)
  if (code === 0) {
    holds(said === '', 'what is sound is no error', () => said)
    return undefined
  }
  holds(code === 2, 'what is configured wrongly has its own exit code', () => String(code))
  holds(said.startsWith(`${program.name}: `), 'a refusal says who refuses', () => said)
  const message = said.slice(program.name.length + 2, -1)
  holds(!/[\p{Cc}\p{Zl}\p{Zp}]/u.test(message), 'a refusal is one line', () => JSON.stringify(said))
  checkRefusal(scene, message)
  return said
}

/** What is shown as sound starts, or says in the same way why it does not. */
async function start(scene: Scene): Promise<Refusal | undefined> {
  const { program, args, env } = scene
  let refusal: Refusal | undefined
  try {
    refusal = await program.start(args, env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    refusal = { exitCode: 2, message: error.message, error }
  }
  if (refusal === undefined) return undefined
  checkSilence(scene, refusal.message)
  holds(refusal.exitCode === 2, untyped, () => {
    const { error } = refusal
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  })
  checkRefusal(scene, refusal.message)
  return refusal
}

/** It names where the mistake stands. */
function checkRefusal({ program, args, env, paths }: Scene, message: string): void {
  const names = [...program.settings.keys()].flatMap((name) => [flagOf(name), variableOf(name)])
  const given = [
    ...args.flatMap((word) => (word.startsWith('-') ? flagsIn(word) : `"${word}"`)),
    ...[...Object.keys(env), ...paths],
  ].map(printable)
  const isNamed = [...names, ...given].some((name) => printable(message).includes(name))
  holds(isNamed, 'a refusal names what is meant', () => message)
}

/** What is looked at: behind one dash each letter, behind two what stands before the value. */
function flagsIn(word: string): string[] {
  if (word.startsWith('--')) return [word.replace(/^(--[^=]*).*/s, '$1')]
  return word === '-' ? [word] : Array.from(word.slice(1), (letter) => `-${letter}`)
}

function checkSilence({ args }: Scene, said: string): void {
  // Who hands over a secret where a word is expected has shown it to everybody already.
  const isShown = args.some((word, index) => word.includes(secret) && !isForSecret(args, index))
  holds(isShown || !said.includes(secret), 'no secret is ever shown', () => said)
}

/** Whether the word is the value of a flag, or of what looks like one. */
function isForSecret(args: readonly string[], index: number): boolean {
  const secretFlag = /^--(token|tls-key-passphrase)(=|$)/
  return secretFlag.test(args[index]!) || secretFlag.test(args[index - 1] ?? '')
}

function writeFiles(directory: string, input: Input): Map<string, string> {
  return new Map(
    fileKinds.map((kind) => {
      const path = join(directory, kind)
      const written = input.findLast((step) => step.kind === kind)
      if (written === undefined) rmSync(path, { force: true })
      else writeFileSync(path, written.text ?? '', { mode: 0o600 })
      return [kind, path]
    }),
  )
}

/** Without what was given, so that two refusals for the same reason are the same. */
function shape({ paths }: Scene, message: string): string {
  const withoutPaths = paths.reduce((text, path) => text.replaceAll(path, 'file'), message)
  return withoutPaths.replaceAll(/"[^"]*"|-?\d+/g, '#').slice(0, 100)
}

function kindsOf(input: Input): string {
  return [...new Set(input.map(({ kind }) => kind))].sort().join(' ')
}
