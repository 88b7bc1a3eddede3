import type { Change, Edit } from '../bugs/bug.js'

/** A mistake that makes one sentence false, which a test is named after. */
export interface Fault extends Change {
  readonly test: NamedTest
}

/** The test's file, from the root of the repository, its title, and those of subtests down to it. */
export type NamedTest = readonly [file: string, title: string, ...subtests: readonly string[]]

/** Makes edits of one file of a package's compiled code. */
export function editOf(packageName: string, file: string) {
  const path = `packages/${packageName}/dist/src/${file}.js`
  return (old: string, bad: string): readonly Edit[] => [{ file: path, old, new: bad }]
}
