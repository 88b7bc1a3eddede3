import t, { type Test } from 'tap'
import {
  argument,
  ConfigError,
  defineVerb,
  type Noun,
  parseCommand,
  runVerbs,
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
  summary: 'Shows a thing.',
  examples: [{ line: 'things get 17 --colour red', help: 'The seventeenth, in red.' }],
  settings: {
    Thing: { thingId: argument(whole(1, 99), { help: 'Which.' }) },
    Looks: { colour: setting(text('colour'), { fallback: 'blue', help: 'How.' }) },
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
  summary: 'Counts things.',
  settings: {},
  prepare: () => async () => 5,
})

const paint = defineVerb({
  summary: 'Paints things. All of them.',
  settings: {
    Which: {
      colour: argument(text('colour'), { help: 'With what.' }),
      thingIds: severalArguments(whole(1, 99), { help: 'Which.' }),
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
  summary: 'Looks at the shelf. It is of wood.',
  examples: [{ line: 'things shelf top dust', help: 'Dusts the top one.' }],
  verbs: {
    paint,
    top: { summary: 'The top one.', verbs: { dust: count } },
  },
}

const things: Verbs = {
  name: 'things',
  version: '1.2.3',
  summary: 'Looks at things.',
  verbs: { get, count, paint, shelf: async () => shelf },
}

async function run(t: Test, ...args: string[]) {
  const host = new HostWorld(t, args)
  return { code: await runVerbs(things, host), said: host.said, complained: host.complained }
}

/** The one message that it is refused with. */
function refusal(...args: string[]): Promise<string> {
  return parseCommand(things, args).then(
    () => 'it was accepted',
    (error) => {
      if (error instanceof ConfigError) return error.message
      throw error
    },
  )
}

t.test('the verb comes first, and what is behind it is its own', async (t) => {
  t.match(await run(t, 'get', '17', '--colour', 'red'), { code: 0, said: '17 red\n' })
  t.match(await run(t, 'count'), { code: 5, said: '' })
})

t.test('what is wrong is said under the name of the verb, once', async (t) => {
  const code = 2
  t.match(await run(t, 'get'), {
    code,
    complained: /^things get: <thing-id> is missing; .* things get --help\.\n$/,
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
    complained: /^things count: "1" is not understood: there are only flags/,
  })
})

t.test('a verb that there is not is refused, and what was meant is named', async (t) => {
  t.equal(await refusal('cuont'), '"cuont" is no verb. Did you mean count? See things --help.')
  t.equal(await refusal('constructor'), '"constructor" is no verb. See things --help.')
  t.equal(await refusal(), 'say which of get, count, paint, shelf. See things --help.')
  t.match(
    await refusal('--colour', 'red', 'get'),
    /^--colour comes too early: first the verb, then its flags/,
  )
  t.match(await run(t, 'cuont'), { code: 2, complained: /^things: "cuont" is no verb/ })
})

t.test('a verb of a noun is found without the noun, and named with it', async (t) => {
  t.equal(
    await refusal('top'),
    '"top" is no verb. Did you mean things shelf top? See things --help.',
  )
  t.equal(
    await refusal('dsut'),
    '"dsut" is no verb. Did you mean things shelf top dust? See things --help.',
  )
  // A verb of its own goes before one of the same name that lies deeper.
  t.match(await refusal('shelf', 'piant'), /Did you mean paint\?/)
  t.match(await refusal('piant'), /Did you mean paint\?/)
})

t.test('-h, -V and -v are what they are elsewhere, before a verb and behind it', async (t) => {
  for (const before of [[], ['get'], ['shelf'], ['shelf', 'paint']]) {
    t.equal((await run(t, ...before, '-h')).said, (await run(t, ...before, '--help')).said)
    for (const flag of ['-V', '-v']) t.equal((await run(t, ...before, flag)).said, '1.2.3\n')
  }
  t.match(await run(t, 'version'), { complained: /Did you mean --version\?/ })
})

t.test('the help of all names every verb; that of a verb is its own', async (t) => {
  const all = await run(t, '--help')
  t.equal(all.code, 0)
  t.ok(
    all.said.startsWith(
      'Usage: things <verb> [flags]\n\nLooks at things. things <verb> --help shows',
    ),
  )
  t.match(all.said, 'Verbs:\n  get      Shows a thing.\n  count    Counts things.\n')
  t.match(all.said, '  paint    Paints things.\n  shelf …  Looks at the shelf.\n')
  t.equal((await run(t, 'help')).said, all.said)
  const own = await run(t, 'get', '--help')
  t.ok(own.said.startsWith('Usage: things get <thing-id> [flags]\n\nShows a thing.'))
  t.match(own.said, 'Examples:\n  # The seventeenth, in red.\n  things get 17 --colour red\n')
})

t.test('a noun has verbs of its own, at any depth, and a help at each', async (t) => {
  t.match(await run(t, 'shelf', 'paint', 'red', '7'), { code: 0, said: 'red 7=7\n' })
  t.match(await run(t, 'shelf', 'top', 'dust'), { code: 5, said: '' })
  const own = await run(t, 'shelf', '--help')
  t.ok(
    own.said.startsWith(
      'Usage: things shelf <verb> [flags]\n\nLooks at the shelf. It is of wood. ',
    ),
  )
  t.match(own.said, 'Verbs:\n  paint  Paints things.\n  top …  The top one.\n')
  t.match(own.said, 'Examples:\n  # Dusts the top one.\n  things shelf top dust\n')
  t.equal((await run(t, 'help', 'shelf')).said, own.said)
  t.match(
    (await run(t, 'help', 'shelf', 'top', 'dust')).said,
    /^Usage: things shelf top dust \[flags\]\n/,
  )
  t.match(await run(t, 'shelf', 'top', '--version'), { code: 0, said: '1.2.3\n' })
  t.equal(await refusal('shelf'), 'say which of paint, top. See things shelf --help.')
  t.equal(
    await refusal('shelf', 'tpo'),
    '"tpo" is no verb. Did you mean top? See things shelf --help.',
  )
  t.equal(
    await refusal('help', 'cuont'),
    '"cuont" is no verb. Did you mean count? See things --help.',
  )
  t.match(await run(t, 'shelf', 'paint'), {
    code: 2,
    complained: /^things shelf paint: <colour> is missing; /,
  })
})

t.test('the last argument may take all words that are left', async (t) => {
  t.match(await run(t, 'paint', 'red', '17', '--twice', '18', '19'), {
    ...{ code: 0, said: 'red 17+18+19=54\n' },
  })
  t.match(await run(t, 'paint', 'red'), {
    code: 2,
    complained: /^things paint: <thing-ids> is missing; it must be a whole number/,
  })
  t.match(await run(t, 'paint', 'red', '17', 'x'), {
    code: 2,
    complained: /^things paint: <thing-ids> is "x"; it must be a whole number/,
  })
  const help = await run(t, 'paint', '--help')
  t.ok(help.said.startsWith('Usage: things paint <colour> <thing-ids>… [flags]\n'))
  t.match(help.said, /\n {2}<thing-ids>… +Which\.\n/)
  t.match(await run(t, 'paint', 'red', '1', '2', '--print-config'), {
    said: /^<thing-ids> +1 2 +<thing-ids>$/m,
  })
})

t.test('each verb has the version of all', async (t) => {
  t.match(await run(t, '--version'), { code: 0, said: '1.2.3\n' })
  t.match(await run(t, 'count', '--version'), { code: 0, said: '1.2.3\n' })
})

t.test('what all verbs ignore, each does', async (t) => {
  for (const args of [['count'], ['shelf', 'top', 'dust']]) {
    const host = new HostWorld(t, args, { TENURE_DATA_DIR: 'd' })
    t.equal(await runVerbs(things, host), 2)
    t.equal(await runVerbs({ ...things, ignoresOtherVariables: true }, host), 5)
  }
})

t.test('no verb is loaded but the one that is typed', async (t) => {
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
  t.same(loaded, ['shelf', 'get', 'shelf'], 'and the help shows all of them')
})
