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
import type { Bug, Edit } from './bug.js'

const root = fileURLToPath(new URL('../../../../../', import.meta.url))
const simulator = 'apps/simulator'
const scope = '@tenure'

/** A copy of the compiled code with a bug in it. Nothing of it is in what ships. */
export class Plot {
  readonly #directory: string

  private constructor(directory: string) {
    this.#directory = directory
  }

  static plant(bug: Bug): Plot {
    const plot = new Plot(mkdtempSync(join(tmpdir(), 'tenure-sim-bug-')))
    try {
      for (const dir of directories()) plot.#copy(dir)
      for (const edit of bug.edits) plot.#edit(bug, edit)
      return plot
    } catch (error) {
      plot.remove()
      throw error
    }
  }

  get program(): string {
    return join(this.#directory, simulator, 'dist/src/main.js')
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true })
  }

  #edit(bug: Bug, edit: Edit): void {
    writeFileSync(join(this.#directory, edit.file), edited(this.#directory, bug, edit))
  }

  #copy(dir: string): void {
    const [from, to] = [join(root, dir), join(this.#directory, dir)]
    mkdirSync(to, { recursive: true })
    cpSync(join(from, 'package.json'), join(to, 'package.json'))
    cpSync(join(from, 'dist/src'), join(to, 'dist/src'), { recursive: true })
    this.#link(from, to)
  }

  /** Packages of ours are those of the copy, all others those of the original. */
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

/** Throws where the compiled code is not what the bug is made for. */
export function requireFit(bug: Bug): void {
  for (const edit of bug.edits) edited(root, bug, edit)
}

/** The file in that directory as it is with the bug. */
function edited(directory: string, { name }: Bug, { file, old, new: bad }: Edit): string {
  const parts = readFileSync(join(directory, file), 'utf8').split(old)
  if (parts.length === 2) return parts.join(bad)
  const times = `${parts.length - 1} times`
  throw new Error(`the bug "${name}" does not fit: ${file} holds ${times}: ${old}`)
}

function directories(): string[] {
  const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)
  return [...packages, simulator].filter((dir) => existsSync(join(root, dir, 'dist/src')))
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
