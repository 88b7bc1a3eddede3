import t from 'tap'
import { Checks, describe } from '../src/index.js'

class OwnError extends Error {}
const check = new Checks((message) => new OwnError(message))

/** The message of the error that `act` throws, or `undefined`. */
function refusal(act: () => unknown): string | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    if (error instanceof OwnError) return error.message
    throw error
  }
}

t.test(
  'an error has the class of the package and names the path, the value and the expected values',
  (t) => {
    const error = check.refusal('options.x', 'blue', 'red')
    t.ok(error instanceof OwnError)
    t.equal(error.message, 'options.x is blue; it must be red')
    t.end()
  },
)

t.test('a valid value is returned', (t) => {
  const list = ['a']
  const object = { a: 1 }
  const call = () => {}
  t.equal(check.whole('x', 1, 1, 3), 1)
  t.equal(check.whole('x', 3, 1, 3), 3)
  t.equal(check.duration('x', 0.5), 0.5)
  t.equal(check.duration('x', Number.POSITIVE_INFINITY), Number.POSITIVE_INFINITY)
  t.equal(check.boolean('x', false), false)
  t.equal(check.callable('x', call), call)
  t.equal(check.oneOf('x', 'b', ['a', 'b']), 'b')
  t.equal(check.text('x', 'äö', 4, 4), 'äö')
  t.equal(check.list('x', list, 'a list'), list)
  t.equal(check.list('x', list, 'a list', 1, 1), list)
  t.equal(check.object('x', object), object)
  check.names('x', object, ['a', 'b'])
  check.ranges('x', { a: [0, 1], b: [2, 9] }, { a: 1, b: 2 })
  t.end()
})

const refused: readonly [what: string, act: () => unknown, message: string][] = [
  ...['4', 0, 4, 1.5, Number.NaN, Number.POSITIVE_INFINITY, null, undefined, 2n].map(
    (value): [string, () => unknown, string] => [
      `whole ${describe(value)}`,
      () => check.whole('x', value, 1, 3),
      `x is ${describe(value)}; it must be a whole number from 1 to 3`,
    ],
  ),
  ...[0, -1, Number.NaN, '5', undefined].map((value): [string, () => unknown, string] => [
    `duration ${describe(value)}`,
    () => check.duration('x', value),
    `x is ${describe(value)}; it must be a number of milliseconds above 0, or Infinity`,
  ]),
  [
    'a number above the safe integers',
    () => check.whole('x', 2 ** 53, 0, 2 ** 60),
    `x is ${2 ** 53}; it must be a whole number from 0 to ${2 ** 60}`,
  ],
  ['boolean', () => check.boolean('x', 1), 'x is 1; it must be true or false'],
  ['callable', () => check.callable('x', 'log'), 'x is "log"; it must be a function'],
  ['oneOf', () => check.oneOf('x', 'c', ['a', 'b']), 'x is "c"; it must be one of a, b'],
  [
    'a number instead of a string',
    () => check.text('x', 7, 1, 4),
    'x is a number; it must be a string',
  ],
  [
    'an empty string',
    () => check.text('x', '', 1, 4),
    'x is a string of 0 bytes; it must be 1 to 4 bytes long',
  ],
  [
    'a long string',
    () => check.text('x', 'äöü', 1, 4),
    'x is a string of 6 bytes; it must be 1 to 4 bytes long',
  ],
  [
    'a lone surrogate',
    () => check.text('x', '\ud800', 1, 4),
    'x is not well-formed Unicode; it must be a string without lone surrogates',
  ],
  [
    'a string instead of a list',
    () => check.list('x', 'ab' as never, 'a list'),
    'x is a string; it must be a list',
  ],
  [
    'a short list',
    () => check.list('x', [], 'a list of 1', 1, 1),
    'x is a list of 0; it must be a list of 1',
  ],
  [
    'a long list',
    () => check.list('x', [1, 2], 'a list of 1', 1, 1),
    'x is a list of 2; it must be a list of 1',
  ],
  ['null instead of an object', () => check.object('x', null), 'x is null; it must be an object'],
  ['a missing object', () => check.object('x', undefined), 'x is missing; it must be an object'],
  [
    'a list instead of an object',
    () => check.object('x', [1]),
    'x is a list of 1; it must be an object',
  ],
  [
    'a string instead of an object',
    () => check.names('x', 'key', []),
    'x is a string; it must be an object',
  ],
  [
    'an unknown name',
    () => check.names('x', { a: 1, c: 2 }, ['a', 'b']),
    'x.c is not an option; it must be one of a, b',
  ],
  [
    'a value outside its named range',
    () => check.ranges('x', { a: [0, 1], b: [2, 9] }, { a: 1, b: 1 }),
    'x.b is 1; it must be a whole number from 2 to 9',
  ],
]

for (const [what, act, message] of refused) {
  t.test(`rejected: ${what}`, (t) => {
    t.equal(refusal(act), message)
    t.end()
  })
}

t.test('describe shortens a value and hides the contents of objects', (t) => {
  const shown: readonly [unknown, string][] = [
    ['17', '"17"'],
    ['x'.repeat(300), `"${'x'.repeat(200)}"`],
    [17n, '17n'],
    [0.5, '0.5'],
    [-0, '-0'],
    [true, 'true'],
    [undefined, 'missing'],
    [null, 'null'],
    [['secret'], 'a list of 1'],
    [{ token: 'secret' }, 'an object'],
    [Object.create(null), 'an object'],
    [() => 1, 'a function'],
    [Symbol('x'), 'a symbol'],
  ]
  for (const [value, expected] of shown) t.equal(describe(value), expected)
  t.end()
})
