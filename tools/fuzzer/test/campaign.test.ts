import { holds } from '@tenure/harness'
import t from 'tap'
import { fuzz } from '../src/campaign/campaign.js'
import { readFinding, saveFinding } from '../src/campaign/finding-files.js'
import { shrink } from '../src/campaign/shrink.js'
import type { Input } from '../src/input/input.js'
import { mutateOneOf } from '../src/input/mutation.js'
import type { Target } from '../src/input/target.js'

const sum = (input: Input) =>
  input.flatMap(({ bytes }) => [...bytes!]).reduce((total, byte) => total + byte, 0)

/** A target that fails on large sums. */
function adder(tried: Input[] = []): Target {
  return {
    name: 'adder',
    generate: (random) => [{ kind: 'numbers', bytes: random.bytes(4).map((byte) => byte % 8) }],
    mutate: mutateOneOf,
    run(input) {
      tried.push(input)
      holds(sum(input) < 200, 'sums are small', () => `${sum(input)}`)
      return `sum of ${Math.floor(sum(input) / 8)}`
    },
  }
}

t.test('the same seed tries the same inputs', async (t) => {
  const [one, other, another]: Input[][] = [[], [], []]
  const run = (tried: Input[], seed: number) =>
    fuzz(adder(tried), { seed, isOver: (inputs) => inputs >= 100 })
  await run(one!, 1)
  await run(other!, 1)
  await run(another!, 2)
  t.same(one, other)
  t.notSame(one, another)
})

t.test('a finding is as short as possible, and reported once', async (t) => {
  const { findings, inputs } = await fuzz(adder(), { seed: 1, isOver: (tried) => tried >= 2000 })
  t.equal(findings.length, 1)
  t.equal(inputs, 2000)
  const [{ input, check, detail }] = findings as [(typeof findings)[0]]
  t.equal(check, 'sums are small')
  t.equal(detail, String(sum(input)))
  t.equal(input.length, 1)
  const bytes = [...input[0]!.bytes!]
  t.ok(
    bytes.every((byte) => sum(input) - byte < 200),
    `every byte of ${bytes} is needed`,
  )
})

t.test('steps, bytes and letters are removed', async (t) => {
  const input = [
    { kind: 'noise', text: 'nothing' },
    { kind: 'word', text: 'a needle in hay' },
    { kind: 'bytes', bytes: Uint8Array.of(1, 2, 3, 4, 5) },
  ]
  const fails = async (steps: Input) => {
    const hasWord = steps.some(({ text }) => text?.includes('needle'))
    return hasWord && steps.some(({ bytes }) => bytes?.includes(3))
  }
  const smallest = await shrink(input, fails, 1000)
  t.same(smallest, [
    { kind: 'word', text: 'needle' },
    { kind: 'bytes', bytes: Uint8Array.of(3) },
  ])
})

t.test('a finding is read back from its file', async (t) => {
  const finding = {
    target: 'adder',
    check: 'sums are small',
    detail: '500',
    input: [
      { kind: 'numbers', bytes: Buffer.from('fffe', 'hex') },
      { kind: 'word', text: 'ü\n', name: 'x', at: 3 },
    ],
  }
  t.same(readFinding(saveFinding(finding, t.testdir())), finding)
})
