import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import {
  argument,
  ConfigError,
  choice,
  completionVerb,
  defineVerb,
  type Noun,
  parseCommand,
  runVerbs,
  secret,
  setting,
  severalArguments,
  text,
  type Verb,
  type Verbs,
  whole,
  yesOrNo,
} from '../src/index.js'
import { HostWorld } from './world.js'

const get = defineVerb({
  summary: 'Show a thing.',
  examples: [{ line: 'things get 17 --colour red', help: 'Show thing 17 in red.' }],
  settings: {
    Thing: { thingId: argument(whole(1, 99), { help: 'Id of the thing.' }) },
    Looks: { colour: setting(text('colour'), { fallback: 'blue', help: 'Colour of the thing.' }) },
  },
  prepare: ({ values }) => {
    if (values.colour === 'none') throw new ConfigError('--colour is none')
    return async (host) => {
      host.stdout.write(`${values.thingId} ${values.colour}\n`)
      return 0
    }
  },
})

const count = defineVerb({
  summary: 'Count things.',
  settings: {},
  prepare: () => async () => 5,
})

const paint = defineVerb({
  summary: 'Paint things. Several coats are possible.',
  settings: {
    Which: {
      colour: argument(text('colour'), { help: 'Colour to paint with.' }),
      thingIds: severalArguments(whole(1, 99), { help: 'Ids of the things.' }),
    },
    Looks: { twice: setting(yesOrNo(), { fallback: false, help: 'Two coats.' }) },
  },
  prepare: ({ values: { colour, thingIds } }) => {
    return async (host) => {
      // The types follow from the table: this would not compile otherwise.
      const sum: number = thingIds.reduce((one, other) => one + other, 0)
      host.stdout.write(`${colour} ${thingIds.join('+')}=${sum}\n`)
      return 0
    }
  },
})

const shelf: Noun = {
  summary: 'Manage the shelf. It is made of wood.',
  examples: [{ line: 'things shelf top dust', help: 'Dust the top shelf.' }],
  verbs: {
    paint,
    top: { summary: 'Manage the top shelf.', verbs: { dust: count } },
  },
}

const things: Verbs = {
  name: 'things',
  version: '1.2.3',
  summary: 'Manage things.',
  verbs: { get, count, paint, shelf: async () => shelf },
}

async function run(t: Test, ...args: string[]) {
  const host = new HostWorld(t, args)
  return { code: await runVerbs(things, host), said: host.said, complained: host.complained }
}

/** The message of the ConfigError. */
function refusal(...args: string[]): Promise<string> {
  return parseCommand(things, args).then(
    () => 'it was accepted',
    (error) => {
      if (error instanceof ConfigError) return error.message
      throw error
    },
  )
}

t.test('the verb comes first, followed by its own arguments and flags', async (t) => {
  t.match(await run(t, 'get', '17', '--colour', 'red'), { code: 0, said: '17 red\n' })
  t.match(await run(t, 'count'), { code: 5, said: '' })
})

t.test('an error message begins with the name of the verb', async (t) => {
  const code = 2
  t.match(await run(t, 'get'), {
    code,
    complained: /^things get: <thing-id> is required; .* things get --help\.\n$/,
  })
  t.match(await run(t, 'get', 'x'), {
    code,
    complained: /^things get: <thing-id> is "x"; it must be/,
  })
  t.match(await run(t, 'get', '1', '--color=x'), { code, complained: /Did you mean --colour\?/ })
  t.match(await run(t, 'get', '1', '--colour=none'), {
    code,
    complained: 'things get: --colour is none\n',
  })
  t.match(await run(t, 'count', '1'), {
    code,
    complained: /^things count: unexpected argument "1": only flags are allowed/,
  })
})

t.test('an unknown verb is an error that suggests a close one', async (t) => {
  t.equal(await refusal('cuont'), 'unknown command "cuont". Did you mean count? See things --help.')
  t.equal(await refusal('constructor'), 'unknown command "constructor". See things --help.')
  t.equal(
    await refusal(),
    'a command is required: one of get, count, paint, shelf. See things --help.',
  )
  t.match(
    await refusal('--colour', 'red', 'get'),
    /^--colour must follow the command, as in things <command> --colour\./,
  )
  t.match(await run(t, 'cuont'), { code: 2, complained: /^things: unknown command "cuont"/ })
})

t.test('a nested verb is suggested with its group', async (t) => {
  t.equal(
    await refusal('top'),
    'unknown command "top". Did you mean things shelf top? See things --help.',
  )
  t.equal(
    await refusal('dsut'),
    'unknown command "dsut". Did you mean things shelf top dust? See things --help.',
  )
  // A direct verb comes before a nested one of the same name.
  t.match(await refusal('shelf', 'piant'), /Did you mean paint\?/)
  t.match(await refusal('piant'), /Did you mean paint\?/)
})

t.test('-h, -V and -v work with and without a verb', async (t) => {
  for (const before of [[], ['get'], ['shelf'], ['shelf', 'paint']]) {
    t.equal((await run(t, ...before, '-h')).said, (await run(t, ...before, '--help')).said)
    for (const flag of ['-V', '-v']) t.equal((await run(t, ...before, flag)).said, '1.2.3\n')
  }
  t.match(await run(t, 'version'), { complained: /Did you mean --version\?/ })
})

t.test('the help of the program lists every verb, and each verb has its own help', async (t) => {
  const all = await run(t, '--help')
  t.equal(all.code, 0)
  t.ok(
    all.said.startsWith(
      'Usage: things <command> [flags]\n\nManage things. Run things <command> --help for',
    ),
  )
  t.match(all.said, 'Commands:\n  get      Show a thing\n  count    Count things\n')
  t.match(all.said, '  paint    Paint things\n  shelf …  Manage the shelf\n')
  t.equal((await run(t, 'help')).said, all.said)
  const own = await run(t, 'get', '--help')
  t.ok(own.said.startsWith('Usage: things get <thing-id> [flags]\n\nShow a thing.'))
  t.match(own.said, 'Examples:\n  # Show thing 17 in red\n  things get 17 --colour red\n')
})

t.test('a group has verbs of its own at any depth, each level with help', async (t) => {
  t.match(await run(t, 'shelf', 'paint', 'red', '7'), { code: 0, said: 'red 7=7\n' })
  t.match(await run(t, 'shelf', 'top', 'dust'), { code: 5, said: '' })
  const own = await run(t, 'shelf', '--help')
  t.ok(
    own.said.startsWith(
      'Usage: things shelf <command> [flags]\n\nManage the shelf. It is made of wood. ',
    ),
  )
  t.match(own.said, 'Commands:\n  paint  Paint things\n  top …  Manage the top shelf\n')
  t.match(own.said, 'Examples:\n  # Dust the top shelf\n  things shelf top dust\n')
  t.equal((await run(t, 'help', 'shelf')).said, own.said)
  t.match(
    (await run(t, 'help', 'shelf', 'top', 'dust')).said,
    /^Usage: things shelf top dust \[flags\]\n/,
  )
  t.match(await run(t, 'shelf', 'top', '--version'), { code: 0, said: '1.2.3\n' })
  t.equal(
    await refusal('shelf'),
    'a command is required: one of paint, top. See things shelf --help.',
  )
  t.equal(
    await refusal('shelf', 'tpo'),
    'unknown command "tpo". Did you mean top? See things shelf --help.',
  )
  t.equal(
    await refusal('help', 'cuont'),
    'unknown command "cuont". Did you mean count? See things --help.',
  )
  t.match(await run(t, 'shelf', 'paint'), {
    code: 2,
    complained: /^things shelf paint: <colour> is required; /,
  })
})

t.test('the last argument may take all remaining words', async (t) => {
  t.match(await run(t, 'paint', 'red', '17', '--twice', '18', '19'), {
    code: 0,
    said: 'red 17+18+19=54\n',
  })
  t.match(await run(t, 'paint', 'red'), {
    code: 2,
    complained: /^things paint: <thing-ids> is required; it must be a whole number/,
  })
  t.match(await run(t, 'paint', 'red', '17', 'x'), {
    code: 2,
    complained: /^things paint: <thing-ids> is "x"; it must be a whole number/,
  })
  const help = await run(t, 'paint', '--help')
  t.ok(help.said.startsWith('Usage: things paint <colour> <thing-ids>… [flags]\n'))
  t.match(help.said, /\n {2}<thing-ids>… +Ids of the things\n/)
  t.match(await run(t, 'paint', 'red', '1', '2', '--print-config'), {
    said: /^<thing-ids> +1 2 +<thing-ids>$/m,
  })
})

t.test('each verb has the version of the program', async (t) => {
  t.match(await run(t, '--version'), { code: 0, said: '1.2.3\n' })
  t.match(await run(t, 'count', '--version'), { code: 0, said: '1.2.3\n' })
})

t.test('ignoresOtherVariables of the program holds for each verb', async (t) => {
  for (const args of [['count'], ['shelf', 'top', 'dust']]) {
    const host = new HostWorld(t, args, { TENURE_DATA_DIR: 'd' })
    t.equal(await runVerbs(things, host), 2)
    t.equal(await runVerbs({ ...things, ignoresOtherVariables: true }, host), 5)
  }
})

t.test('only the typed verb is loaded', async (t) => {
  const loaded: string[] = []
  const load = (word: string, verb: Verb | Noun) => async () => {
    loaded.push(word)
    return verb
  }
  const verbs = { get: load('get', get as Verb), shelf: load('shelf', shelf) }
  const host = new HostWorld(t, ['shelf', 'top', 'dust'])
  t.equal(await runVerbs({ ...things, verbs }, host), 5)
  t.same(loaded, ['shelf'])
  t.equal(await runVerbs({ ...things, verbs }, new HostWorld(t, ['--help'])), 0)
  t.same(loaded, ['shelf', 'get', 'shelf'], 'the help loads all of them')
})

// ---- completion

const settings = {
  Which: { colour: argument(choice('red', 'green'), { help: 'Colour to paint with.' }) },
  How: {
    coat: setting(choice('thin', 'thick'), { help: "It's: \\ thin. Or thick." }),
    pattern: setting(text('file'), { help: 'A drawing.' }),
    word: setting(text('word'), { help: 'One.' }),
    twice: setting(yesOrNo(), { fallback: false, help: 'Two coats.' }),
    key: setting(secret(), { help: 'Never a flag.' }),
  },
} as const
const done = { prepare: () => async () => 0 }
const painting = defineVerb({ summary: 'Paint a thing. Dry it.', settings, ...done })
const show = defineVerb({
  summary: 'Show a file.',
  settings: { Which: { file: argument(text('file'), { help: 'File to show.' }) } },
  ...done,
})
const myThings: Verbs = {
  name: 'my-things',
  version: '1.2.3',
  summary: 'Manage things.',
  verbs: {
    paint: painting,
    show,
    shelf: { summary: 'The shelf.', verbs: { paint: painting } },
    completion: completionVerb('my-things', () => myThings),
  },
}

async function script(t: Test, shell: string): Promise<string> {
  const host = new HostWorld(t, ['completion', shell])
  t.equal(await runVerbs(myThings, host), 0)
  return host.said
}

/** The words that bash offers after the given ones. */
async function offered(t: Test) {
  const directory = t.testdir({ 'a file': '', 'a drawing': '', other: '' })
  const path = join(directory, 'script')
  writeFileSync(path, await script(t, 'bash'))
  const line = `set -u; source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _my_things; printf '%s\\n' "\${COMPREPLY[@]-}"`
  return (...words: string[]) => {
    const options = { cwd: directory, encoding: 'utf8', env: { PATH: process.env.PATH } } as const
    const said = execFileSync('bash', ['-c', line, path, 'my-things', ...words], options)
    return said.split('\n').filter(Boolean)
  }
}

const actions = ['--help', '--version', '--print-config']
const isWindows = process.platform === 'win32'

t.test('bash completes verbs at each level', { skip: isWindows }, async (t) => {
  const after = await offered(t)
  t.same(after(''), ['paint', 'show', 'shelf', 'completion', '--help', '--version'])
  t.same(after('sh'), ['show', 'shelf'])
  t.same(after('shelf', ''), ['paint', '--help', '--version'])
  t.same(after('completion', 'f'), ['fish'])
})

t.test('bash completes flags and known values', { skip: isWindows }, async (t) => {
  const after = await offered(t)
  const flags = ['--coat', '--pattern', '--word', '--twice']
  t.same(after('paint', ''), ['red', 'green', ...flags, ...actions])
  t.same(after('shelf', 'paint', '--co'), ['--coat'])
  t.same(after('paint', 'red', '--coat', ''), ['thin', 'thick'])
  t.same(after('paint', '--coat', '=', 'thi'), ['thin', 'thick'])
  t.same(after('paint', '--coat', '='), ['thin', 'thick'])
  t.same(after('paint', '--twice', '--w'), ['--word'])
  t.same(after('paint', '--word', ''), [], 'a free text is not completed')
})

t.test('bash completes the names of files', { skip: isWindows }, async (t) => {
  const after = await offered(t)
  t.same(after('paint', '--pattern', 'a').sort(), ['a drawing', 'a file'])
  t.same(after('show', 'a').sort(), ['a drawing', 'a file'])
  t.same(after('show', '--h'), ['--help'])
})

t.test('zsh and fish show the help of each word', async (t) => {
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
  for (const text of [zsh, fish]) t.notMatch(text, '--key', 'a secret is not a flag')
})
