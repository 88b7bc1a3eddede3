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

/** A fault can be inserted between a program and its configuration. */
export type Wrap = (program: Program) => Program

/** The only token and passphrase, so that every leak is recognised. */
const secret = 'opensesame-41c7'

/** In a text, these stand for the file that a step of this kind has written. */
const fileKinds = ['config-file', 'token-file', 'tokens-file'] as const

/**
 * Words and variables for a program, and the files that they name: `{config-file}` in a text stands
 * for the path of the file of that step.
 */
export function configurationTarget(wrap: Wrap = (program) => program): Target {
  let programs: readonly Program[] | undefined
  const directory = mkdtempSync(join(tmpdir(), 'tenure-fuzzer-'))
  // Also when the process exits early.
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
      // A worker without a handler reports nothing but that.
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

/** One setting, in one of its possible sources. */
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

/** Changes a text like a typing mistake, or replaces a file with another one. */
function mutateText(random: Random, steps: Input): Input {
  const step = pickOf(
    random,
    steps.filter(({ text }) => text !== undefined),
  )
  if (step === undefined) return steps
  const bytes = mutateBytes(random, Buffer.from(step.text!))
  // The operating system passes no NUL bytes and Node no invalid UTF-8 in words.
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
  if (shown !== undefined)
    return `${program.name} rejects its configuration: ${shape(scene, shown)}`
  const refusal = await start(scene)
  if (refusal === undefined) return `${program.name} starts with ${kindsOf(input)}`
  return `${program.name} fails to start: ${shape(scene, refusal.message)}`
}

interface Scene {
  readonly program: Program
  readonly args: readonly string[]
  readonly env: Record<string, string>
  readonly paths: readonly string[]
}

/** Runs the program with --print-config; returns the error line if it fails. */
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
      throw new Violation('--print-config starts nothing', `it exited with ${code}`)
    },
  }
  const code = await runCommand(program.command, host)
  const said = err.join('')
  checkSilence(scene, out.join('') + said)
  if (code === 0) {
    holds(said === '', 'a valid configuration prints no error', () => said)
    return undefined
  }
  holds(code === 2, 'a configuration error exits with 2', () => String(code))
  holds(said.startsWith(`${program.name}: `), 'a configuration error names the program', () => said)
  const message = said.slice(program.name.length + 2, -1)
  holds(!/[\p{Cc}\p{Zl}\p{Zp}]/u.test(message), 'a configuration error is one line', () =>
    JSON.stringify(said),
  )
  checkRefusal(scene, message)
  return said
}

/** A configuration that prints without an error either starts or fails with a proper message. */
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

/** The message names the source of the mistake. */
function checkRefusal({ program, args, env, paths }: Scene, message: string): void {
  const names = [...program.settings.keys()].flatMap((name) => [flagOf(name), variableOf(name)])
  const given = [
    ...args.flatMap((word) => (word.startsWith('-') ? flagsIn(word) : `"${word}"`)),
    ...[...Object.keys(env), ...paths],
  ].map(printable)
  const isNamed = [...names, ...given].some((name) => printable(message).includes(name))
  holds(isNamed, 'a configuration error names the setting', () => message)
}

/** The flags in a word: each letter after one dash, or the name before the value after two. */
function flagsIn(word: string): string[] {
  if (word.startsWith('--')) return [word.replace(/^(--[^=]*).*/s, '$1')]
  return word === '-' ? [word] : Array.from(word.slice(1), (letter) => `-${letter}`)
}

function checkSilence({ args }: Scene, said: string): void {
  // A secret that was typed as an ordinary word was already visible on the command line.
  const isShown = args.some((word, index) => word.includes(secret) && !isForSecret(args, index))
  holds(isShown || !said.includes(secret), 'no secret is shown', () => said)
}

/** Whether the word is the value of a flag, or of a word that looks like one. */
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

/** Removes the given values, so that two errors with the same reason look the same. */
function shape({ paths }: Scene, message: string): string {
  const withoutPaths = paths.reduce((text, path) => text.replaceAll(path, 'file'), message)
  return withoutPaths.replaceAll(/"[^"]*"|-?\d+/g, '#').slice(0, 100)
}

function kindsOf(input: Input): string {
  return [...new Set(input.map(({ kind }) => kind))].sort().join(' ')
}
