// Holds the commands in the documents to the programs: each verb, each flag and each value that a page shows is accepted. A command in
// a block of shell lines is given to its program with `--print-config`, which checks everything and runs nothing. Of a command inside a
// sentence, which may leave things out, the flags are looked up in the program's help.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { programs } from './programs.mjs'
import { main, readArguments, root } from './workspace.mjs'

/** @typedef {{ where: string, words: string[], isWhole: boolean }} Command */

/** @type {Record<string, string>} */
const paths = {
  ...programs,
  'tenure-coordinator': 'apps/coordinator/dist/src/main.js',
  'tenure-worker': 'apps/worker/dist/src/main.js',
}
const binaries = ['tenure', 'tenure-coordinator', 'tenure-worker']
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const ofPnpm = ['install', 'exec', 'publish']

/** @type {Map<string, string>} */
const helps = new Map()

readArguments('node scripts/check-commands.mjs', {})
await main(() => {
  const pages = spawnSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' })
    .stdout.split('\n')
    .filter(
      (page) =>
        page !== '' && !/^docs\/specification\/|CHANGELOG|\/api\.md$|^\.changeset/.test(page),
    )
  const commands = pages.flatMap((page) => commandsOf(page))
  const faults = commands.flatMap((command) =>
    objections(command).map(
      (objection) => `${command.where}: ${command.words.join(' ')}: ${objection}`,
    ),
  )
  if (commands.length === 0)
    faults.push('the documents show no command: has the form of their blocks changed?')
  if (faults.length > 0) throw new Error(faults.join('\n'))
  console.log(
    `${commands.length} commands in ${pages.length} pages are accepted by their programs.`,
  )
})

/**
 * @param {string} page
 * @returns {Command[]}
 */
function commandsOf(page) {
  /** @type {Command[]} */
  const commands = []
  let isShell = false
  let isBlock = false
  const text = readFileSync(join(root, page), 'utf8').replaceAll('\\\n', '  ')
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^\s*```(\w*)/.exec(line)
    if (fence !== null) {
      isBlock = !isBlock
      isShell = isBlock && fence[1] === 'sh'
      continue
    }
    const lines = isShell
      ? [line]
      : isBlock
        ? []
        : [...line.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code)
    for (const one of lines) {
      for (const words of simpleCommands(one)) {
        const own = ownWords(words)
        if (own !== undefined)
          commands.push({ where: `${page}:${index + 1}`, words: own, isWhole: isShell })
      }
    }
  }
  return commands
}

/**
 * The commands of a line of shell, without what surrounds them: comments, pipes, redirections, sequels.
 * @param {string} line
 * @returns {string[][]}
 */
function simpleCommands(line) {
  /** @type {string[][]} */
  const commands = [[]]
  for (const [token] of line.matchAll(/\s#.*|'[^']*'|"[^"]*"|\|\||&&|[|;&>]|[^\s'"|;&>]+/g)) {
    if (/^\s#/.test(token)) break
    if (/^(?:\|\||&&|[|;&>])$/.test(token)) commands.push([])
    else commands.at(-1)?.push(token.replace(/^(['"])(.*)\1$/, '$2'))
  }
  return commands
}

/**
 * The program or the script of the repository, and its arguments; `undefined` for every other command.
 * @param {string[]} words
 * @returns {string[] | undefined}
 */
function ownWords(words) {
  if (words[0] === 'npx' && words[1] === '-p') return ownWords(words.slice(3))
  if (words[0] === 'npx' && words[1] === 'pnpm') return ['pnpm', ...words.slice(2)]
  if (words[0] === 'node') {
    const program = binaries.find((name) => paths[name] === words[1])
    return program === undefined ? undefined : [program, ...words.slice(2)]
  }
  // A name alone, in a sentence, is the name of the program.
  return words.length > 1 && binaries.includes(words[0] ?? '') ? words : undefined
}

/**
 * @param {Command} command
 * @returns {string[]}
 */
function objections({ words: [first = '', ...rest], isWhole }) {
  const [name = '', ...args] = first === 'pnpm' ? rest : [first, ...rest]
  if (first === 'pnpm' && scripts[name] === undefined) {
    return ofPnpm.includes(name) || /^[<-]/.test(name) ? [] : ['package.json has no such script']
  }
  // Placeholders, variables and files of the reader's make a command that only its reader can run.
  if (isWhole && binaries.includes(name) && !args.some((arg) => /^[A-Z<$]|[/.]/.test(arg))) {
    const { status, stderr } = runNode([paths[name] ?? '', ...args, '--print-config'])
    return status === 0 ? [] : [stderr.trim()]
  }
  const help = helpOf(
    name,
    name === 'tenure' ? args.slice(0, 2).filter((arg) => /^[a-z]+$/.test(arg)) : [],
  )
  if (help === '') return ['it has no such verb']
  return args
    .flatMap((arg) => /^--[a-z][a-z-]*/.exec(arg) ?? [])
    .filter((flag) => help !== undefined && !help.includes(flag))
    .map((flag) => `it has no ${flag}`)
}

/**
 * @param {string} name
 * @param {string[]} words the first of them are verbs, perhaps
 * @returns {string | undefined} `undefined` for a script that is no program, empty where there is no such verb
 */
function helpOf(name, words) {
  const path = paths[name]
  if (path === undefined) return undefined
  const key = [name, ...words].join(' ')
  const known = helps.get(key)
  if (known !== undefined) return known
  const { status, stdout } = runNode([path, ...words, '--help'])
  // The second word may be an argument.
  const help = status === 0 ? stdout : words.length < 2 ? '' : helpOf(name, words.slice(0, -1))
  if (help !== undefined) helps.set(key, help)
  return help
}

/** @param {string[]} args */
function runNode(args) {
  return spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
}
