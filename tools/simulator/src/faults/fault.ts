import type { Change, Edit } from '../bugs/bug.js'

/** A mistake that makes one sentence false; a test has that sentence as its title. */
export interface Fault extends Change {
  readonly test: NamedTest
}

/**
 * The test's file, from the root of the repository, its title, and the titles of subtests down to
 * it.
 */
export type NamedTest = readonly [file: string, title: string, ...subtests: readonly string[]]

/** Creates edits of one file of a package's compiled code. */
export function editOf(packageName: string, file: string) {
  return editIn(`packages/${packageName}`, file)
}

/** Creates edits of one file of a program's compiled code. A copy contains only the coordinator. */
export function editOfApp(app: 'coordinator', file: string) {
  return editIn(`apps/${app}`, file)
}

function editIn(directory: string, file: string) {
  const path = `${directory}/dist/src/${file}.js`
  return (old: string, bad: string): readonly Edit[] => [{ file: path, old, new: bad }]
}
