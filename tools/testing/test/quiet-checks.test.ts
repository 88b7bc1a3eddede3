import t from 'tap'
import { QuietChecks } from '../src/index.js'

/** Records the calls of tap's assertions, with their messages. */
function listener() {
  const heard: string[] = []
  const hear = (name: string) => (_found: unknown, _expected: unknown, why?: string) => {
    heard.push(`${name} ${why}`)
  }
  const checks = new QuietChecks({
    ok: (_, why) => heard.push(`ok ${why}`),
    equal: hear('equal'),
    same: hear('same'),
    strictSame: hear('strictSame'),
    match: hear('match'),
  })
  return { checks, heard }
}

t.test('checks that hold are counted without calling tap', async (t) => {
  const { checks, heard } = listener()
  checks.ok(1, 'why')
  checks.equal('a', 'a', 'why')
  checks.same([{ a: 1 }], [{ a: 1 }], 'why')
  checks.strictSame({ a: [1, undefined] }, { a: [1, undefined] }, 'why')
  checks.match({ a: 1, b: { c: 2 } }, { b: { c: 2 } }, 'why')
  t.same(heard, [])
  t.equal(checks.count, 5)
})

t.test('a check that fails is repeated with tap', async (t) => {
  const { checks, heard } = listener()
  checks.ok(0, 'why')
  checks.equal(1, '1', 'why')
  checks.same([1], [2], 'why')
  checks.strictSame({ a: 1 }, { a: '1' }, 'why')
  checks.match({ a: 1, b: 2 }, { b: 3 }, 'why')
  checks.match({ a: 1 }, { a: 1, b: 3 }, 'why')
  t.same(heard, ['ok why', 'equal why', 'same why', 'strictSame why', 'match why', 'match why'])
  t.equal(checks.count, 6)
})
