// Reports the public API of a package as text: the declaration of each exported name, and the declarations
// that those refer to. It is made from the .d.ts files without comments, so that it changes only when users
// see a change.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'

/** @typedef {import('oxc-parser').Node} Node */
/** @typedef {{ start: number, end: number }} Range */
/** @typedef {{ file: string, name: string }} Place a declaration of a module, or an entry of another package */

/**
 * @typedef {object} Module
 * @property {string} file
 * @property {Map<string, Place>} exported by exported name
 * @property {Map<string, Place>} imported by local name
 * @property {Map<string, Range[]>} declared several ranges for overloads and merged declarations
 * @property {Array<{ place: Place, start: number }>} references to types and values
 * @property {(range: Range) => string} textOf without comments
 */

/**
 * @typedef {object} Report
 * @property {Map<string, string>} exported declarations by name
 * @property {Map<string, string>} reached unexported declarations that exported ones refer to
 * @property {string[]} imports declarations of other packages
 */

/**
 * @param {string[]} entries paths of .d.ts files
 * @returns {Report}
 */
export function reportApi(entries) {
  /** @type {Map<string, Module>} */
  const modules = new Map()
  /** @param {string} file */
  const moduleAt = (file) => {
    const module = modules.get(file) ?? readModule(file)
    modules.set(file, module)
    return module
  }
  /**
   * The declaration of a name, found through all modules that re-export it.
   * @param {Place} place
   * @returns {Place}
   */
  const origin = (place) => {
    if (isForeign(place)) return place
    const { declared, exported } = moduleAt(place.file)
    if (declared.has(place.name)) return place
    const next = exported.get(place.name)
    if (next === undefined) throw new Error(`${place.file} has no ${place.name}`)
    return origin(next)
  }

  /** @type {Map<string, { place: Place, as?: string }>} */
  const found = new Map()
  for (const entry of entries) {
    for (const [as, handedOn] of moduleAt(entry).exported) {
      const place = origin(handedOn)
      found.set(keyOf(place), { place, as })
    }
  }
  /** @type {Report} */
  const report = { exported: new Map(), reached: new Map(), imports: [] }
  // The loop adds the declarations that it reaches to the map.
  for (const { place, as } of found.values()) {
    if (isForeign(place)) {
      const line = `import type { ${place.name} } from '${place.file}'`
      if (as === undefined) report.imports.push(line)
      else report.exported.set(as, line.replace('import', 'export'))
      continue
    }
    const { declared, references, textOf } = moduleAt(place.file)
    const ranges = declared.get(place.name) ?? []
    const list = as === undefined ? report.reached : report.exported
    const whole = ranges.map(textOf).join('\n')
    const text = as === undefined ? whole.replace(/^export /gm, '') : whole
    const name = as ?? place.name
    // Two modules may declare the same name.
    list.set(name, [list.get(name), text].filter((it) => it !== undefined).join('\n'))
    for (const reference of references) {
      if (!ranges.some((range) => isIn(range, reference.start))) continue
      const target = meaning(moduleAt, reference.place)
      if (target === undefined) continue
      const declaration = origin(target)
      const key = keyOf(declaration)
      if (!found.has(key)) found.set(key, { place: declaration })
    }
  }
  report.imports.sort()
  return report
}

/**
 * The declaration or import of a name, unless it is a type parameter or global.
 * @param {(file: string) => Module} moduleAt
 * @param {Place} place
 */
function meaning(moduleAt, place) {
  if (isForeign(place)) return place
  const { declared, exported, imported } = moduleAt(place.file)
  return declared.has(place.name) ? place : (imported.get(place.name) ?? exported.get(place.name))
}

/** @param {Place} place */
const keyOf = ({ file, name }) => `${file} ${name}`

/** @param {Place} place */
const isForeign = ({ file }) => !file.endsWith('.d.ts')

/**
 * @param {Range} range
 * @param {number} offset
 */
const isIn = ({ start, end }, offset) => start <= offset && offset < end

/**
 * @param {string} file
 * @returns {Module}
 */
function readModule(file) {
  if (!existsSync(file)) throw new Error(`${file} does not exist. Run "npx pnpm build" first.`)
  const source = readFileSync(file, 'utf8')
  const { program, comments, errors } = parseSync(file, source)
  if (errors[0]) throw new Error(`${file} cannot be parsed: ${errors[0].message}`)
  /** @type {Module} */
  const module = {
    file,
    exported: new Map(),
    imported: new Map(),
    declared: new Map(),
    references: referencesIn(program, file),
    textOf: (range) => withoutComments(source, range, comments),
  }
  for (const node of program.body) addStatement(module, node)
  return module
}

/**
 * @param {Module} module
 * @param {import('oxc-parser').Program['body'][number]} node
 */
function addStatement({ file, exported, imported, declared }, node) {
  if (node.type === 'ImportDeclaration') {
    for (const it of node.specifiers) {
      const name = it.type === 'ImportSpecifier' ? nameOf(it.imported) : '*'
      imported.set(it.local.name, { file: locate(file, node.source.value), name })
    }
    return
  }
  if (node.type === 'ExportNamedDeclaration' && node.declaration === null) {
    for (const it of node.specifiers) {
      const name = nameOf(it.local)
      const here = imported.get(name) ?? { file, name }
      const from = node.source ? { file: locate(file, node.source.value), name } : here
      exported.set(nameOf(it.exported), from)
    }
    return
  }
  const isExported = node.type === 'ExportNamedDeclaration'
  for (const name of namesOf(isExported ? node.declaration : node, file)) {
    declared.set(name, [...(declared.get(name) ?? []), node])
    if (isExported) exported.set(name, { file, name })
  }
}

/**
 * @param {Node | null} declaration
 * @param {string} file
 * @returns {string[]}
 */
function namesOf(declaration, file) {
  switch (declaration?.type) {
    case 'VariableDeclaration':
      return declaration.declarations.map(({ id }) => firstName(id))
    case 'TSDeclareFunction':
    case 'ClassDeclaration':
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
      return declaration.id === null ? [] : [declaration.id.name]
    default:
      // This repository has no `export *`, default exports or namespaces; a report must not skip one.
      throw new Error(`${file} has a ${declaration?.type}, which API reports do not support`)
  }
}

/**
 * @param {import('oxc-parser').Program} program
 * @param {string} file
 */
function referencesIn(program, file) {
  /** @type {Module['references']} */
  const references = []
  /** @param {Node | null} node */
  const refer = (node) => {
    if (node === null) return
    const name = firstName(node)
    if (name !== '') references.push({ place: { file, name }, start: node.start })
  }
  new Visitor({
    TSTypeReference: ({ typeName }) => refer(typeName),
    TSTypeQuery: ({ exprName }) => refer(exprName),
    TSInterfaceHeritage: ({ expression }) => refer(expression),
    TSClassImplements: ({ expression }) => refer(expression),
    ClassDeclaration: ({ superClass }) => refer(superClass),
    TSImportType: ({ source, qualifier, start }) => {
      const name = qualifier ? firstName(qualifier) : '*'
      references.push({ place: { file: locate(file, source.value), name }, start })
    },
  }).visit(program)
  return references
}

/**
 * `a` for `a` and for `a.b`; empty for anything else.
 * @param {Node} node
 * @returns {string}
 */
function firstName(node) {
  if (node.type === 'TSQualifiedName') return firstName(node.left)
  return node.type === 'Identifier' ? node.name : ''
}

/** @param {import('oxc-parser').ModuleExportName} node */
const nameOf = (node) => (node.type === 'Literal' ? node.value : node.name)

/**
 * @param {string} file
 * @param {string} specifier
 */
function locate(file, specifier) {
  if (!specifier.startsWith('.')) return specifier
  return join(dirname(file), specifier.replace(/\.js$/, '.d.ts'))
}

/**
 * @param {string} source
 * @param {Range} range
 * @param {Range[]} comments
 */
function withoutComments(source, range, comments) {
  let text = ''
  let from = range.start
  for (const comment of comments.filter(({ start }) => isIn(range, start))) {
    text += source.slice(from, comment.start)
    from = comment.end
  }
  return `${text}${source.slice(from, range.end)}`
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .join('\n')
}
