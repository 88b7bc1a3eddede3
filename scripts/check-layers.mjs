// Checks the dependency direction: between packages, in imports and in package.json, and between the folders of a
// package. It also checks that packages with internal entries are required by exact version. The tables below are the
// complete rule; a package without a line fails.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'
import { listPackages, main, readArguments, root } from './workspace.mjs'

/** @typedef {import('./workspace.mjs').Package} Package */

/** @type {Record<string, string[]>} */
const mayKnow = {
  '@tenure/seams': [],
  '@tenure/options': [],
  '@tenure/values': [],
  '@tenure/http-port': [],
  '@tenure/shared-log': ['@tenure/seams'],
  '@tenure/wal': ['@tenure/seams', '@tenure/options'],
  '@tenure/state-machine': ['@tenure/options', '@tenure/values'],
  '@tenure/protocol': ['@tenure/options', '@tenure/values'],
  '@tenure/harness': [],
  '@tenure/testing': [],
  '@tenure/testing-histories': ['@tenure/testing', '@tenure/wal', '@tenure/state-machine'],
  '@tenure/client': ['@tenure/seams', '@tenure/options', '@tenure/protocol'],
  '@tenure/worker-runtime': [
    '@tenure/seams',
    '@tenure/options',
    '@tenure/protocol',
    '@tenure/client',
  ],
  '@tenure/app-kit': ['@tenure/seams', '@tenure/protocol', '@tenure/client'],
  '@tenure/history': ['@tenure/options', '@tenure/wal', '@tenure/state-machine'],
  '@tenure/coordinator-server': [
    '@tenure/seams',
    '@tenure/options',
    '@tenure/http-port',
    '@tenure/shared-log',
    '@tenure/history',
    '@tenure/wal',
    '@tenure/state-machine',
    '@tenure/protocol',
  ],
}

/**
 * The rooms of a package or an app, the lowest first: a room may know the rooms above it in its list, and itself.
 * A name is that of a folder in `src/` or of a file beside the folders. Those on one line may know one
 * another. Files beside the folders that are not named may know every room, and no room may know them.
 * @type {Record<string, string[]>}
 */
const rooms = {
  '@tenure/wal': [
    'errors damage lsn',
    ...['disk', 'format', 'options', 'write', 'scan', 'checkpoint', 'recover', 'inspect', 'copy'],
  ],
  '@tenure/state-machine': [
    'errors values record.ts task',
    ...['record', 'store', 'state', 'apply', 'invariants', 'snapshot'],
  ],
  '@tenure/protocol': ['errors limits', 'wire', 'messages', 'connections'],
  '@tenure/client': ['errors uncaught id-map', 'connection', 'link', 'api'],
  '@tenure/worker-runtime': [
    'errors handler refusals',
    ...['observe', 'isolation', 'attempt', 'polling', 'options'],
  ],
  '@tenure/app-kit': [
    'host',
    'settings',
    'sources',
    'connection',
    'process',
    'verbs',
    'completion',
  ],
  '@tenure/history': ['errors omit-undefined', 'follow', 'task', 'check', 'explanation', 'what-if'],
  '@tenure/coordinator-server': [
    '@tenure/seams',
    'errors refusals',
    ...[
      'decide',
      'polls',
      'history',
      'checkpoints',
      'queries',
      'core',
      'replica',
      'net',
      'observe',
      'options',
    ],
  ],
  '@tenure/coordinator': ['settings', 'credentials', 'options endings events'],
  '@tenure/worker': ['exec', 'settings', 'options', 'http-server', 'endings events'],
  '@tenure/cli': ['command-line', 'terminal', 'coordinator', 'log', 'tasks', 'timeline', 'verbs'],
}

/**
 * The apps whose programs or tests a tool starts. Its manifest names them, so that they are built first, but it does
 * not import them.
 * @type {Record<string, string[]>}
 */
const mayStart = {
  '@tenure/bench': ['@tenure/coordinator', '@tenure/worker', '@tenure/cli'],
  '@tenure/chaos': ['@tenure/coordinator', '@tenure/worker'],
  '@tenure/demo': ['@tenure/coordinator', '@tenure/worker', '@tenure/cli'],
  '@tenure/fuzzer': ['@tenure/coordinator', '@tenure/worker'],
  '@tenure/simulator': ['@tenure/coordinator'],
}

/** Helpers for tests and benchmarks. Only tools may use them in other code. */
const testing = new Set(['@tenure/harness', '@tenure/testing', '@tenure/testing-histories'])

/** Packages in `tools/` are private and may depend on every package. */
const isTool = (/** @type {string} */ dir) => dir.startsWith('tools/')

const sourceFile = /\.[cm]?[jt]s$/
const notOurs = new Set(['node_modules', 'dist', '.turbo', '.tap'])

readArguments('node scripts/check-layers.mjs', {})
await main(() => {
  const packages = listPackages()
  const violations = [
    ...packages.flatMap((pkg) => [
      ...checkManifest(pkg),
      ...sourceFilesOf(pkg).flatMap((file) => checkFile(pkg, file)),
    ]),
    ...checkExactRanges(packages),
  ]
  if (violations.length > 0) throw new Error(violations.join('\n'))
  console.log(`${packages.length} packages keep the dependency direction.`)
})

/**
 * @param {Package} pkg
 * @returns {string[]}
 */
function checkManifest({ dir, manifest }) {
  const { dependencies, optionalDependencies, peerDependencies, devDependencies } = manifest
  const where = `${dir}/package.json`
  if (dir.startsWith('packages/') && mayKnow[manifest.name] === undefined) {
    return [`${where}: ${manifest.name} has no line in the table of scripts/check-layers.mjs`]
  }
  if (isTool(dir) && manifest.private !== true) {
    return [`${where}: ${manifest.name} is a tool, so it must be private`]
  }
  const started = mayStart[manifest.name] ?? []
  const isKnown = (/** @type {string} */ other) => !started.includes(other)
  const shipped = Object.keys({
    ...dependencies,
    ...optionalDependencies,
    ...peerDependencies,
  }).filter(isKnown)
  const forTests = Object.keys(devDependencies ?? {}).filter(isKnown)
  return [
    ...shipped.map((name) => objection(dir, manifest.name, name, false)),
    ...forTests.map((name) => objection(dir, manifest.name, name, true)),
  ].flatMap((reason) => (reason === undefined ? [] : [`${where}: ${reason}`]))
}

/**
 * An internal entry may change in any release, so an installation must never mix versions of it. Every published package
 * that depends on one, even indirectly, requires its dependencies by exact version; changesets then releases them together.
 * @param {Package[]} packages
 * @returns {string[]}
 */
function checkExactRanges(packages) {
  const published = packages.filter(({ manifest }) => manifest.private !== true)
  const exact = new Set(
    published
      .filter(({ manifest }) => './internal' in { ...manifest.exports })
      .map(({ manifest }) => manifest.name),
  )
  // The loop also visits names added during iteration.
  for (const name of exact) {
    for (const { manifest } of published) {
      if (name in { ...manifest.dependencies }) exact.add(manifest.name)
    }
  }
  return published.flatMap(({ dir, manifest }) => {
    const { dependencies, optionalDependencies, peerDependencies } = manifest
    return Object.entries({ ...dependencies, ...optionalDependencies, ...peerDependencies })
      .filter(([name, range]) => exact.has(name) && range !== 'workspace:*')
      .map(([name, range]) => {
        const why = 'it has an internal entry, or depends on a package that has one'
        return `${dir}/package.json: ${name} must be workspace:*, not ${range}: ${why}`
      })
  })
}

/**
 * @param {Package} pkg
 * @param {string} file
 * @returns {string[]}
 */
function checkFile({ dir, manifest }, file) {
  const path = join(root, dir, file)
  const text = readFileSync(path, 'utf8')
  const isTest = /^(test|bench)\//.test(file)
  return importsIn(path, text).flatMap(({ specifier, offset }) => {
    const line = text.slice(0, offset).split('\n').length
    const reason = specifier.startsWith('.')
      ? (leavesPackage(dir, path, specifier) ?? leavesRoom(dir, manifest.name, path, specifier))
      : objection(dir, manifest.name, specifier, isTest)
    return reason === undefined ? [] : [`${dir}/${file}:${line}: ${reason}`]
  })
}

/**
 * Why the package at `dir` must not depend on `specifier`; `undefined` if it may.
 * @param {string} dir
 * @param {string} name
 * @param {string} specifier
 * @param {boolean} forTests
 * @returns {string | undefined}
 */
function objection(dir, name, specifier, forTests) {
  const [scope, base, ...deep] = specifier.split('/')
  if (scope !== '@tenure') return undefined
  const target = `${scope}/${base}`
  if (deep.length > 0 && deep.join('/') !== 'internal') {
    return `${specifier} reaches into ${target}; import ${target} itself`
  }
  if (testing.has(target)) {
    if (isTool(dir)) return undefined
    return forTests ? undefined : `${target} is for tests and benchmarks only`
  }
  // A package may import itself by name in its own tests, as users do.
  if (target === name) return forTests ? undefined : `${name} must not import itself by name`
  const allowed = mayKnow[name] ?? (dir.startsWith('packages/') ? [] : Object.keys(mayKnow))
  if (allowed.includes(target)) return undefined
  const known = allowed.length > 0 ? `only ${allowed.join(', ')}` : 'no other package'
  return `${name} must not know ${target}; it knows ${known}`
}

/**
 * @param {string} dir
 * @param {string} path
 * @param {string} specifier
 * @returns {string | undefined}
 */
function leavesPackage(dir, path, specifier) {
  const target = resolve(dirname(path), specifier)
  if (target.startsWith(join(root, dir) + sep)) return undefined
  return `${specifier} leaves the package; import the other package by its name`
}

/**
 * @param {string} dir
 * @param {string} name
 * @param {string} path
 * @param {string} specifier
 * @returns {string | undefined}
 */
function leavesRoom(dir, name, path, specifier) {
  const list = rooms[name]
  const source = join(root, dir, 'src')
  if (list === undefined || !path.startsWith(source + sep)) return undefined
  const [from, to] = [path, resolve(dirname(path), specifier)].map((file) => {
    const [room = '', ...below] = relative(source, file).split(sep)
    // A folder and a file may have the same name.
    const names =
      below.length > 0 ? [room] : [room.replace(/\.[jt]s$/, '.ts'), room.replace(/\.[jt]s$/, '')]
    const found = names.map((it) => list.findIndex((line) => line.split(' ').includes(it)))
    const floor = found.find((index) => index !== -1) ?? list.length
    return { room: names.at(-1), floor }
  })
  if (from === undefined || to === undefined || to.floor <= from.floor) return undefined
  return `${from.room} must not know ${to.room}, which is above it`
}

/**
 * Every module that a file names: imports, re-exports, dynamic imports, `import('x').Type`, require.
 * @param {string} path
 * @param {string} text
 */
function importsIn(path, text) {
  const { program, errors } = parseSync(path, text)
  if (errors[0]) throw new Error(`${path} cannot be parsed: ${errors[0].message}`)
  /** @type {Array<{ specifier: string, offset: number }>} */
  const found = []
  /** @param {{ type: string, value?: unknown, start: number } | null | undefined} node */
  const add = (node) => {
    if (node?.type !== 'Literal' || typeof node.value !== 'string') return
    found.push({ specifier: node.value, offset: node.start })
  }
  new Visitor({
    ImportDeclaration: (node) => add(node.source),
    ExportNamedDeclaration: (node) => add(node.source),
    ExportAllDeclaration: (node) => add(node.source),
    ImportExpression: (node) => add(node.source),
    TSImportType: (node) => add(node.source),
    TSExternalModuleReference: (node) => add(node.expression),
    CallExpression: ({ callee, arguments: [first] }) => {
      if (callee.type === 'Identifier' && callee.name === 'require') add(first)
    },
  }).visit(program)
  return found
}

/**
 * @param {Package} pkg
 * @returns {string[]} paths relative to the package, with forward slashes
 */
function sourceFilesOf({ dir }) {
  /** @type {(folder: string) => string[]} */
  const walk = (folder) =>
    readdirSync(join(root, dir, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) return notOurs.has(entry.name) ? [] : walk(path)
      return sourceFile.test(entry.name) ? [path] : []
    })
  return walk('')
}
