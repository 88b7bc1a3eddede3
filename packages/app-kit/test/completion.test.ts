import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  argument,
  choice,
  completionVerb,
  defineVerb,
  runVerbs,
  secret,
  setting,
  text,
  type Verbs,
  yesOrNo,
} from '../src/index.js'
import { HostWorld } from './world.js'

const settings = {
  Which: { colour: argument(choice('red', 'green'), { help: 'Which.' }) },
  How: {
    coat: setting(choice('thin', 'thick'), { help: "It's: \\ thin. Or thick." }),
    pattern: setting(text('file'), { help: 'A drawing.' }),
    word: setting(text('word'), { help: 'One.' }),
    twice: setting(yesOrNo(), { fallback: false, help: 'Two coats.' }),
    key: setting(secret(), { help: 'Never a flag.' }),
  },
} as const
const done = { prepare: () => async () => 0 }
const paint = defineVerb({ summary: 'Paints. Well.', settings, ...done })
const show = defineVerb({
  summary: 'Shows a file.',
  settings: { Which: { file: argument(text('file'), { help: 'Which.' }) } },
  ...done,
})
const things: Verbs = {
  name: 'my-things',
  version: '1.2.3',
  summary: 'Looks at things.',
  verbs: {
    ...{ paint, show, shelf: { summary: 'The shelf.', verbs: { paint } } },
    completion: completionVerb('my-things', () => things),
  },
}

async function script(t: Test, shell: string): Promise<string> {
  const host = new HostWorld(t, ['completion', shell])
  t.equal(await runVerbs(things, host), 0)
  return host.said
}

/** What bash would offer behind these words. */
async function offered(t: Test) {
  const directory = t.testdir({ 'a file': '', 'a drawing': '', other: '' })
  const path = join(directory, 'script')
  writeFileSync(path, await script(t, 'bash'))
  const run = `set -u; source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _my_things; printf '%s\\n' "\${COMPREPLY[@]-}"`
  return (...words: string[]) => {
    const options = { cwd: directory, encoding: 'utf8', env: { PATH: process.env.PATH } } as const
    const said = execFileSync('bash', ['-c', run, path, 'my-things', ...words], options)
    return said.split('\n').filter(Boolean)
  }
}

const actions = ['--help', '--version', '--print-config']
const isWindows = process.platform === 'win32'

t.test('bash completes verbs, at each level', { skip: isWindows }, async (t) => {
  const after = await offered(t)
  t.same(after(''), ['paint', 'show', 'shelf', 'completion', '--help', '--version'])
  t.same(after('sh'), ['show', 'shelf'])
  t.same(after('shelf', ''), ['paint', '--help', '--version'])
  t.same(after('completion', 'f'), ['fish'])
})

t.test('bash completes flags, and values that are known', { skip: isWindows }, async (t) => {
  const after = await offered(t)
  const flags = ['--coat', '--pattern', '--word', '--twice']
  t.same(after('paint', ''), ['red', 'green', ...flags, ...actions])
  t.same(after('shelf', 'paint', '--co'), ['--coat'])
  t.same(after('paint', 'red', '--coat', ''), ['thin', 'thick'])
  t.same(after('paint', '--coat', '=', 'thi'), ['thin', 'thick'])
  t.same(after('paint', '--coat', '='), ['thin', 'thick'])
  t.same(after('paint', '--twice', '--w'), ['--word'])
  t.same(after('paint', '--word', ''), [], 'what nobody knows is left to whoever types')
})

t.test('bash completes files where one is meant', { skip: isWindows }, async (t) => {
  const after = await offered(t)
  t.same(after('paint', '--pattern', 'a').sort(), ['a drawing', 'a file'])
  t.same(after('show', 'a').sort(), ['a drawing', 'a file'])
  t.same(after('show', '--h'), ['--help'])
})

t.test('zsh and fish are told what each word means', async (t) => {
  const zsh = await script(t, 'zsh')
  t.match(zsh, /^#compdef my-things\n/)
  t.match(
    zsh,
    `(' shelf paint') found=('red' 'green' '--coat:It'\\''s\\: \\ thin' '--pattern:A drawing' `,
  )
  const fish = await script(t, 'fish')
  const at = `complete -c my-things -n '__my_things_at " paint"'`
  t.match(fish, `\n${at} -l coat -x -a 'thin thick' -d 'It\\'s: \\\\ thin'\n`)
  t.match(fish, `\n${at} -l pattern -r -F -d 'A drawing'\n${at} -l word -x -d 'One'\n`)
  t.match(fish, `\n${at} -l twice -d 'Two coats'\n`)
  t.match(fish, `\ncomplete -c my-things -n '__my_things_at ""' -a shelf -d 'The shelf'\n`)
  for (const text of [zsh, fish]) t.notMatch(text, '--key', 'a secret is no flag')
})
