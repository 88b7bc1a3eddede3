// Holds docs/architecture.md to the code: every file it leads to is there, and every function of a row
// is declared in the file of that row.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { main, readArguments, root } from './workspace.mjs'

const page = 'docs/architecture.md'
const link = /\]\((\.\.?\/[^)#]+)\)/g
/** A row that ends with a function and the file it is in. */
const step = /\| `(#?\w+)` \| \[[^\]]+\]\(([^)]+)\) \|$/

readArguments('node scripts/check-architecture.mjs', {})
await main(() => {
  const lines = readFileSync(join(root, page), 'utf8').split('\n')
  const faults = lines.flatMap((line, index) =>
    objections(line).map((objection) => `${page}:${index + 1}: ${objection}`),
  )
  const steps = lines.filter((line) => step.test(line)).length
  if (steps === 0) faults.push(`${page} names no function: has the form of its tables changed?`)
  if (faults.length > 0) throw new Error(faults.join('\n'))
  console.log(`${page}: ${steps} functions are where it says.`)
})

/**
 * @param {string} line
 * @returns {string[]}
 */
function objections(line) {
  const missing = [...line.matchAll(link)]
    .map(([, target = '']) => target)
    .filter((target) => !existsSync(resolvePath(target)))
    .map((target) => `${target} is not there`)
  const [, name = '', target = ''] = step.exec(line) ?? []
  if (name === '' || missing.length > 0 || declares(resolvePath(target), name)) return missing
  return [`${target} declares no ${name}`]
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
  return new RegExp(`${ofFile}|${ofClass}`, 'm').test(readFileSync(path, 'utf8'))
}
