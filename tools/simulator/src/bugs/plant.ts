import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Change, Edit } from './bug.js'

export const root = fileURLToPath(new URL('../../../../../', import.meta.url))
const simulator = 'tools/simulator'
const tools = ['tools/harness', 'tools/testing', 'tools/testing-histories', simulator]
/** The only program whose tests are named by faults. */
const coordinator = 'apps/coordinator'
const scope = '@tenure'

/** A copy of the compiled code with a change in it. The shipped code stays as it is. */
export class CodeCopy {
  readonly #directory: string

  private constructor(directory: string) {
    this.#directory = directory
  }

  /** A copy with the change. */
  static plant(change: Change): CodeCopy {
    const copy = CodeCopy.copy()
    copy.#guard(() => copy.#change(change))
    return copy
  }

  /**
   * A copy without a change; with `tests` it includes the compiled tests and the files that they
   * read.
   */
  static copy({ tests = false } = {}): CodeCopy {
    const copy = new CodeCopy(mkdtempSync(join(tmpdir(), 'tenure-sim-bug-')))
    copy.#guard(() => {
      for (const dir of directories(tests)) copy.#copyPackage(dir, tests)
      if (tests) symlinkSync(join(root, 'docs'), copy.path('docs'), 'dir')
    })
    return copy
  }

  /** Makes the change while `run` runs, and reverts it afterwards. */
  async during<T>(change: Change, run: () => Promise<T>): Promise<T> {
    const files = change.edits.map(({ file }) => file)
    const before = files.map((file) => readFileSync(this.path(file), 'utf8'))
    try {
      this.#change(change)
      return await run()
    } finally {
      for (const [index, file] of files.entries()) writeFileSync(this.path(file), before[index]!)
    }
  }

  get program(): string {
    return this.path(simulator, 'dist/src/main.js')
  }

  /** The path in the copy, by the place in the repository. */
  path(...place: readonly string[]): string {
    return join(this.#directory, ...place)
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #change(change: Change): void {
    for (const edit of change.edits) {
      writeFileSync(this.path(edit.file), edited(this.#directory, change, edit))
    }
  }

  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.remove()
      throw error
    }
  }

  #copyPackage(dir: string, tests: boolean): void {
    const [from, to] = [join(root, dir), this.path(dir)]
    mkdirSync(to, { recursive: true })
    cpSync(join(from, 'package.json'), join(to, 'package.json'))
    for (const part of tests ? ['dist/src', 'dist/test'] : ['dist/src']) {
      cpSync(join(from, part), join(to, part), { recursive: true, filter: isRun })
    }
    for (const name of tests ? ['test', 'README.md'] : []) {
      if (existsSync(join(from, name))) symlinkSync(join(from, name), join(to, name))
    }
    this.#link(from, to)
  }

  /** Packages of this repository are linked to the copy, all others to the original. */
  #link(from: string, to: string): void {
    for (const name of dependenciesOf(from)) {
      const path = join(to, 'node_modules', name)
      mkdirSync(dirname(path), { recursive: true })
      const target = realpathSync(join(from, 'node_modules', name))
      const isOurs = name.startsWith(`${scope}/`)
      symlinkSync(isOurs ? target.replace(root, `${this.#directory}/`) : target, path, 'dir')
    }
  }
}

/** Throws if the compiled code no longer matches the change. */
export function requireFit(change: Change): void {
  for (const edit of change.edits) edited(root, change, edit)
}

/** The content of the file with the change. */
function edited(directory: string, { name }: Change, { file, old, new: bad }: Edit): string {
  const parts = readFileSync(join(directory, file), 'utf8').split(old)
  if (parts.length === 2) return parts.join(bad)
  const times = `${parts.length - 1} times`
  throw new Error(`"${name}" does not fit: ${file} contains ${times}: ${old}`)
}

/** Types and source maps are half of the files, and Node reads none of them. */
function isRun(path: string): boolean {
  return !path.endsWith('.d.ts') && !path.endsWith('.map')
}

function directories(tests: boolean): string[] {
  const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)
  const apps = tests ? [coordinator] : []
  return [...packages, ...tools, ...apps].filter((dir) => existsSync(join(root, dir, 'dist/src')))
}

function dependenciesOf(directory: string): string[] {
  const modules = join(directory, 'node_modules')
  if (!existsSync(modules)) return []
  return readdirSync(modules).flatMap((name) => {
    if (name.startsWith('.')) return []
    if (!name.startsWith('@')) return [name]
    return readdirSync(join(modules, name)).map((base) => `${name}/${base}`)
  })
}
