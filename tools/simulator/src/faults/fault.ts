import type { Change, Edit } from '../bugs/bug.js'

/** A mistake that makes one sentence false, which a test is named after. */
export interface Fault extends Change {
  readonly test: NamedTest
}

/** The test's file, from the root of the repository, its title, and those of subtests down to it. */
export type NamedTest = readonly [file: string, title: string, ...subtests: readonly string[]]

/** Makes edits of one file of a package's compiled code. */
export function editOf(packageName: string, file: string) {
  return editIn(`packages/${packageName}`, file)
}

/** The same for a program. Of all programs a copy holds the coordinator's only. */
export function editOfApp(app: 'coordinator', file: string) {
  return editIn(`apps/${app}`, file)
}

function editIn(directory: string, file: string) {
  const path = `${directory}/dist/src/${file}.js`
  return (old: string, bad: string): readonly Edit[] => [{ file: path, old, new: bad }]
}
