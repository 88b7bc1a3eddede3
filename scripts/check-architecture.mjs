// Checks docs/architecture.md against the code. Every linked file exists. Every function of a row is declared in the
// file of that row. A table of folders names each folder, on this page and in the README of the package.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { main, readArguments, root } from './workspace.mjs'

const page = 'docs/architecture.md'
const link = /\]\((\.\.?\/[^)#]+)\)/g
/** A row that ends with a function and its file. */
const step = /\| `(#?\w+)` \| \[[^\]]+\]\(([^)]+)\) \|$/
/** A package or an app, and the table of its folders. */
const map = /^### (\S+)( \(the app\))?\n\n(\| room \|.*\n(?:\|.*\n)+)/gm

readArguments('node scripts/check-architecture.mjs', {})
await main(() => {
  const lines = readFileSync(join(root, page), 'utf8').split('\n')
  const faults = lines.flatMap((line, index) =>
    objections(line).map((objection) => `${page}:${index + 1}: ${objection}`),
  )
  const steps = lines.filter((line) => step.test(line)).length
  const maps = [...lines.join('\n').matchAll(map)]
  if (steps === 0 || maps.length === 0) {
    faults.push(`${page} contains no function or no map; check the format of its tables`)
  }
  for (const [, name = '', app, table = ''] of maps) {
    faults.push(...objectionsToMap(`${app === undefined ? 'packages' : 'apps'}/${name}`, table))
  }
  if (faults.length > 0) throw new Error(faults.join('\n'))
  console.log(`${page}: ${steps} functions and ${maps.length} maps are correct.`)
})

/**
 * @param {string} line
 * @returns {string[]}
 */
function objections(line) {
  const missing = [...line.matchAll(link)]
    .map(([, target = '']) => target)
    .filter((target) => !existsSync(resolvePath(target)))
    .map((target) => `${target} does not exist`)
  const [, name = '', target = ''] = step.exec(line) ?? []
  if (name === '' || missing.length > 0 || declares(resolvePath(target), name)) return missing
  return [`${target} declares no ${name}`]
}

/**
 * @param {string} dir
 * @param {string} table
 * @returns {string[]}
 */
function objectionsToMap(dir, table) {
  const named = [...table.matchAll(/^\| `([\w-]+)\/` \|/gm)].map(([, room = '']) => room)
  const folders = readdirSync(join(root, dir, 'src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
  const faults = [
    ...folders
      .filter((folder) => !named.includes(folder))
      .map((folder) => `${page} has no row for ${dir}/src/${folder}`),
    ...named
      .filter((room) => !folders.includes(room))
      .map((room) => `${page} has a row for ${dir}/src/${room}, which does not exist`),
  ]
  const readme = `${dir}/README.md`
  if (!readFileSync(join(root, readme), 'utf8').includes(table)) {
    faults.push(`${readme} must contain the same table of folders as ${page} has for ${dir}`)
  }
  return faults
}

/** @param {string} target */
function resolvePath(target) {
  return join(root, dirname(page), target)
}

/**
 * @param {string} path
 * @param {string} name
 */
function declares(path, name) {
  const ofFile = `^(export )?(async )?function\\*? ${name}\\(`
  const ofClass = `^  (async )?(get )?\\*?${name}\\(`
  const asField = `^  readonly ${name} = \\(`
  return new RegExp(`${ofFile}|${ofClass}|${asField}`, 'm').test(readFileSync(path, 'utf8'))
}
