import t from 'tap'
import { parseCommandLine } from '../src/options.js'

const nothing = { minutes: undefined, scenario: undefined, bugs: 'none', first: false, json: false }

t.test('the default is five hundred seeds, starting with a new one', async (t) => {
  t.match(parseCommandLine([], 7), { ...nothing, seed: 7, seeds: 500, events: false })
})

t.test('--seed alone plays one seed', async (t) => {
  t.match(parseCommandLine(['--', '--seed', '3'], 7), { ...nothing, seed: 3, seeds: 1 })
  t.match(parseCommandLine(['--seed', '3', '--seeds', '9'], 7), { seed: 3, seeds: 9 })
})

t.test('every option is read', async (t) => {
  const args = ['--minutes', '0.5', '--threads', '3', '--first', '--json']
  t.match(parseCommandLine(args, 7), { minutes: 0.5, threads: 3, first: true, json: true })
  t.match(parseCommandLine(['--seed', '3', '--events'], 7), { seed: 3, seeds: 1, events: true })
  const one = ['--scenario', 'a.json', '--events']
  t.match(parseCommandLine(one, 7), { scenario: 'a.json', events: true })
  t.match(parseCommandLine(['--bugs'], 7), { bugs: 'all', log: 'any' })
  t.match(parseCommandLine(['--shared-log'], 7), { log: 'shared' })
  t.match(parseCommandLine(['--own-log'], 7), { log: 'own' })
  t.match(parseCommandLine(['--bug', 'one'], 7), { bugs: { name: 'one' } })
})

t.test('invalid options are rejected', async (t) => {
  for (const [args, message] of [
    [['--seeds', '0'], /^--seeds is 0; it must be a whole number above 0$/],
    [['--seed', 'x'], /^--seed is x; /],
    [['--minutes', '-1'], /minutes/],
    [['--sed', '1'], /--sed/],
    [['now'], /now/],
    [['--seeds', '9', '--scenario', 'a.json'], /^--scenario and --seeds are mutually exclusive$/],
    [
      ['--scenario', 'a.json', '--threads', '2'],
      /^--scenario and --threads are mutually exclusive/,
    ],
    [['--minutes', '1', '--seeds', '9'], /^--minutes and --seeds are mutually exclusive/],
    [['--bugs', '--seed', '3'], /^--bugs and --seed are mutually exclusive/],
    [['--shared-log', '--own-log'], /^--shared-log and --own-log are mutually exclusive/],
    [['--bugs', '--shared-log'], /^--bugs and --shared-log are mutually exclusive/],
    [['--bugs', '--bug', 'one'], /^--bugs and --bug are mutually exclusive/],
    [['--bug', 'one', '--events'], /^--bug and --events are mutually exclusive/],
    [['--events'], /^--events needs one seed or scenario; /],
    [['--seed', '3', '--seeds', '9', '--events'], /^--events needs one seed or scenario; /],
    [['--seed', '3', '--minutes', '1', '--events'], /^--events needs one seed or scenario; /],
  ] as const) {
    t.throws(() => parseCommandLine(args, 7), { message })
  }
})
