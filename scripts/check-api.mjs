// Checks the public API of every package against its report, `packages/<name>/api.md`, so that reviews show API changes.
// `--update` rewrites the reports. Internal entries may change freely and are not reported.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { reportApi } from './api-report.mjs'
import { isLibrary } from './tarballs.mjs'
import { listPackages, main, readArguments, root } from './workspace.mjs'

/** @typedef {import('./workspace.mjs').Package} Package */

const update = 'npx pnpm check:api --update'

/** The declared or imported name. */
const declared = /\b(?:class|const|function|interface|type) (?:\{ )?([\w$]+)/

const { update: isUpdate } = readArguments('npx pnpm check:api [--update]', {
  update: { type: 'boolean', default: false },
})
await main(() => {
  const packages = listPackages().filter(
    ({ manifest }) => manifest.private !== true && isLibrary(manifest),
  )
  const changes = packages.flatMap((pkg) => compare(pkg))
  if (changes.length === 0)
    console.log(`The API of ${packages.length} packages matches their reports.`)
  else if (isUpdate) console.log(changes.join('\n'))
  else {
    throw new Error(
      `${changes.join('\n')}\nIf this change is intended, run ${update} and add a changeset.`,
    )
  }
})

/**
 * @param {Package} pkg
 * @returns {string[]} the differences from the report
 */
function compare({ dir, manifest }) {
  const path = join(root, dir, 'api.md')
  const was = existsSync(path) ? readFileSync(path, 'utf8').replaceAll('\r\n', '\n') : ''
  const is = render(manifest.name, reportApi(publicEntries(dir, manifest)))
  if (was === is) return []
  if (isUpdate) writeFileSync(path, is)
  const [before, after] = [declarationsIn(was), declarationsIn(is)]
  const names = [...new Set([...before.keys(), ...after.keys()])].sort()
  const changes = names.flatMap((name) => describe(name, before.get(name), after.get(name)))
  // Otherwise the format or the order of the report has changed.
  return (changes.length > 0 ? changes : [`the format of ${dir}/api.md has changed`]).map(
    (change) => `${manifest.name}: ${change}`,
  )
}

/**
 * @param {string} dir
 * @param {import('./workspace.mjs').Manifest} manifest
 */
function publicEntries(dir, { exports = {} }) {
  return Object.entries(exports)
    .filter(([entry]) => entry !== './internal')
    .map(([, { types = '' }]) => join(root, dir, posix.normalize(types)))
}

/**
 * @param {string} name
 * @param {import('./api-report.mjs').Report} report
 */
function render(name, { exported, reached, imports }) {
  const blocks = [`# What \`${name}\` offers`, `Written by \`${update}\`.`, block(exported)]
  if (reached.size > 0) {
    blocks.push('Not exported, and named by what is:', block(reached))
  }
  if (imports.length > 0) {
    blocks.push('From elsewhere:', `\`\`\`ts\n${imports.join('\n')}\n\`\`\``)
  }
  return `${blocks.join('\n\n')}\n`
}

/** @param {Map<string, string>} declarations */
function block(declarations) {
  const sorted = [...declarations].sort(([a], [b]) => (a < b ? -1 : 1))
  return `\`\`\`ts\n${sorted.map(([, text]) => text).join('\n\n')}\n\`\`\``
}

/**
 * The declarations of a report by name. An unexported declaration may have the same name as an exported one.
 * @param {string} report
 * @returns {Map<string, string>}
 */
function declarationsIn(report) {
  const found = new Map()
  for (const [, code = ''] of report.matchAll(/```ts\n(.*?)\n```/gs)) {
    const isImports = code.startsWith('import ')
    for (const text of code.split(isImports ? '\n' : '\n\n')) {
      const [, name] = declared.exec(text) ?? []
      const kind = isImports
        ? ' of another package'
        : text.startsWith('export ')
          ? ''
          : ' (not exported)'
      found.set(`${name}${kind}`, text)
    }
  }
  return found
}

/**
 * @param {string} name
 * @param {string | undefined} before
 * @param {string | undefined} after
 * @returns {string[]}
 */
function describe(name, before, after) {
  if (before === after) return []
  if (before === undefined) return [`${name} is new`]
  if (after === undefined) return [`${name} is gone`]
  const [old, now] = [before.split('\n'), after.split('\n')]
  const lines = [
    ...old.filter((line) => !now.includes(line)).map((line) => `  - ${line.trim()}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `  + ${line.trim()}`),
  ]
  return [[`${name} has changed`, ...lines].join('\n')]
}
