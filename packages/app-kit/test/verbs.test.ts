import t, { type Test } from 'tap'
import {
  argument,
  ConfigError,
  defineVerb,
  parseCommand,
  runVerbs,
  setting,
  text,
  type Verbs,
  whole,
} from '../src/index.js'
import { HostWorld, refusal } from './world.js'

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

const things: Verbs = {
  name: 'things',
  version: '1.2.3',
  summary: 'Looks at things.',
  verbs: { get, count },
}

async function run(t: Test, ...args: string[]) {
  const host = new HostWorld(t, args)
  return { code: await runVerbs(things, host), said: host.said, complained: host.complained }
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
  const said = (...args: string[]) => refusal(() => parseCommand(things, args))
  t.equal(said('cuont'), '"cuont" is no verb. Did you mean count? See things --help.')
  t.equal(said('constructor'), '"constructor" is no verb. See things --help.')
  t.equal(said(), 'say which of get, count. See things --help.')
  t.match(
    said('--colour', 'red', 'get'),
    /^--colour comes too early: first the verb, then its flags/,
  )
  t.match(await run(t, 'cuont'), { code: 2, complained: /^things: "cuont" is no verb/ })
})

t.test('the help of all names every verb; that of a verb is its own', async (t) => {
  const all = await run(t, '--help')
  t.equal(all.code, 0)
  t.ok(all.said.startsWith('things <verb> [flags]\n\nLooks at things. things <verb> --help shows'))
  t.match(all.said, 'Verbs:\n  get <thing-id> [flags]\n      Shows a thing.\n')
  const own = await run(t, 'get', '--help')
  t.ok(own.said.startsWith('things get <thing-id> [flags]\n\nShows a thing.'))
  t.match(own.said, 'Examples:\n  things get 17 --colour red\n      The seventeenth, in red.\n')
})

t.test('each verb has the version of all', async (t) => {
  t.match(await run(t, '--version'), { code: 0, said: '1.2.3\n' })
  t.match(await run(t, 'count', '--version'), { code: 0, said: '1.2.3\n' })
})

t.test('what all verbs ignore, each does', async (t) => {
  const host = new HostWorld(t, ['count'], { TENURE_DATA_DIR: 'd' })
  t.equal(await runVerbs(things, host), 2)
  t.equal(await runVerbs({ ...things, ignoresOtherVariables: true }, host), 5)
})
