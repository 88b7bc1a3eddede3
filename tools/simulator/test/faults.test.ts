import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CodeCopy, requireFit, root } from '../src/bugs/plant.js'
import { editOf, type Fault, type NamedTest } from '../src/faults/fault.js'
import { faults } from '../src/faults/faults.js'
import { readTap } from '../src/faults/tap-output.js'
import { type Outcome, resultsOf } from '../src/faults/test-file.js'
import { tryFault, trySound, whyNotKilled } from '../src/faults/trial.js'
import { describeTrials, tryAll } from '../src/faults/trials.js'

const titleOfTest = /\btest\(\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g

/** The titles in a test file; a composed title becomes a pattern. */
function titlesIn(source: string): RegExp[] {
  return [...source.matchAll(titleOfTest)].map(([, single, double, template]) => {
    const parts = template?.split(/\$\{.*?\}/) ?? [single ?? double ?? '']
    const literals = parts.map((part) => part.replace(/\\(.)/g, '$1').replace(/\W/g, '\\$&'))
    return new RegExp(`^${literals.join('.+')}$`, 's')
  })
}

t.test('every fault fits the code, and names existing tests', (t) => {
  const titles = new Map<string, RegExp[]>()
  for (const fault of faults) {
    t.doesNotThrow(() => requireFit(fault))
    const [file, ...named] = fault.test
    const known = titles.get(file) ?? titlesIn(readFileSync(join(root, file), 'utf8'))
    titles.set(file, known)
    for (const title of named) {
      t.ok(
        known.some((pattern) => pattern.test(title)),
        `${file} has the test "${title}"`,
      )
    }
  }
  t.end()
})

t.test('there are many faults, and their names are unique', (t) => {
  t.ok(faults.length >= 60)
  t.equal(new Set(faults.map(({ name }) => name)).size, faults.length)
  t.end()
})

t.test('the output of tap is read', (t) => {
  const output = `TAP version 14
ok 1 - one # SKIP filter: /two/
# Subtest: a title \\# with \\\\ in it
    not ok 1 - an assertion
      ---
      not: a result
      ...
    1..1
not ok 2 - a title \\# with \\\\ in it # time=1.5ms
ok 3
# { total: 3 }
`
  const line = { depth: 0, isOk: true, isSkipped: false }
  t.strictSame(readTap(output), [
    { ...line, title: 'one', isSkipped: true },
    { ...line, title: 'an assertion', depth: 1, isOk: false },
    { ...line, title: 'a title # with \\ in it', isOk: false },
    { ...line, title: '' },
  ])
  t.end()
})

/** A file in which one test has a subtest with this result. */
function outcomeOf(result: string, output = ''): Outcome {
  return { end: 'failed', output, lines: readTap(`    ${result} 1 - sub\n${result} 1 - test\n`) }
}

t.test('a fault counts as found only if the named test fails', (t) => {
  const named: NamedTest = ['file', 'test', 'sub']
  const failed = outcomeOf('not ok')
  t.equal(whyNotKilled(failed, named), undefined)
  t.equal(whyNotKilled(failed, ['file', 'test']), undefined)
  t.equal(resultsOf(failed.lines, ['file', 'sub']).length, 0, 'a subtest does not count as a test')
  t.match(whyNotKilled(outcomeOf('ok'), named), 'the test passes')
  t.match(whyNotKilled({ ...failed, end: 'timed out' }, named), 'the test does not end')
  t.match(whyNotKilled({ ...failed, end: 'passed' }, ['file', 'other']), 'no test of that name')
  t.match(whyNotKilled({ ...failed, output: 'Error: x' }, ['file', 'other']), 'no result')
  const broken = outcomeOf('not ok', 'ReferenceError: undefinedName is not defined')
  t.match(whyNotKilled(broken, named), 'the code does not run')
  t.end()
})

t.test('faults are planted one after the other, and each is reverted', async (t) => {
  const file = 'packages/values/test/values.test.ts'
  const source = readFileSync(join(root, file), 'utf8')
  const title = /test\('([^']*)'/.exec(source)?.[1] ?? ''
  const edit = editOf('values', 'value-reader')
  const fault: Fault = {
    name: 'no code',
    test: [file, title],
    edits: edit('//# sourceMappingURL', ';undefinedName() //'),
  }
  const harmless: Fault = { ...fault, edits: edit('//# sourceMappingURL', '//') }
  const copy = CodeCopy.copy({ tests: true })
  t.teardown(() => copy.remove())
  t.match(await trySound(copy, file, [[file, title]]), { isPassed: true, note: '' })
  t.match(await tryFault(copy, fault), { isPassed: false, note: /does not run/ })
  t.match(await tryFault(copy, harmless), {
    isPassed: false,
    note: /^the test passes; no other test/,
  })
  const unfit: Fault = { ...fault, edits: edit('not there', '') }
  t.match(await tryFault(copy, unfit), { isPassed: false, note: /does not fit: .* 0 times/ })
  t.match(await trySound(copy, file, [[file, 'another']]), {
    isPassed: false,
    note: /lacks or skips the test/,
  })
  const summary = await tryAll([harmless], 1, { write: () => {} })
  t.match(summary, { passed: 1, failed: 1 })
  t.match(describeTrials(summary), /^NOT OK .* no code .*\n\n1 passed, 1 failed$/s)
})
