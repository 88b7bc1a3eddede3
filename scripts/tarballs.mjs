// Packs public packages as they would be published, and checks the tarballs.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { read } from './workspace.mjs'

/** @typedef {import('./workspace.mjs').Package} Package */

/**
 * @typedef {object} Tarball
 * @property {string} file the path of the .tgz
 * @property {string} unpacked folder with its contents
 * @property {import('./workspace.mjs').Manifest} manifest as it would be published
 * @property {Package} source the packed package
 */

/**
 * @param {Package[]} packages must be built
 * @param {string} base the root of the repository that they are in
 * @param {string} destination an empty folder
 * @returns {Tarball[]}
 */
export function packPublic(packages, base, destination) {
  return packages
    .filter(({ manifest }) => manifest.private !== true)
    .map((source) => {
      const folder = join(destination, source.dir)
      mkdirSync(folder, { recursive: true })
      read('pnpm', ['pack', '--pack-destination', folder], { cwd: join(base, source.dir) })
      const [name] = readdirSync(folder).filter((entry) => entry.endsWith('.tgz'))
      if (name === undefined) throw new Error(`pnpm pack left no tarball for ${source.dir}`)
      read('tar', ['-xzf', name], { cwd: folder })
      const unpacked = join(folder, 'package')
      const manifest = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8'))
      return { file: join(folder, name), unpacked, manifest, source }
    })
}

/**
 * Whether the package can be imported; otherwise it is an app.
 * @param {import('./workspace.mjs').Manifest} manifest
 */
export function isLibrary({ exports }) {
  return exports !== undefined
}

/**
 * The files that users import, and their type declarations.
 * @param {import('./workspace.mjs').Manifest} manifest
 */
function entryFiles({ exports = {} }) {
  return Object.values(exports).flatMap((conditions) =>
    Object.values(conditions).map((file) => posix.normalize(file)),
  )
}

/**
 * Finds problems in the contents of a tarball.
 * @param {Tarball} tarball
 * @returns {string[]}
 */
export function inspect({ unpacked, manifest }) {
  const files = readdirSync(unpacked, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => path.slice(unpacked.length + 1).replaceAll('\\', '/'))
  const entries = isLibrary(manifest)
    ? entryFiles(manifest)
    : Object.values(manifest.bin ?? { nothing: 'a bin or exports' })
  const missing = ['LICENSE', 'README.md', ...entries]
    .filter((file) => !files.includes(file))
    .map((file) => `${file} is missing`)
  const unwanted = files
    .filter((file) => /(^|\/)(test|bench|fixtures)\//.test(file) || /\.test\.[a-z.]+$/.test(file))
    .map((file) => `${file} must not be shipped`)
  const unmapped = files
    .filter((file) => file.endsWith('.map'))
    .flatMap((file) => {
      /** @type {{ sources: string[] }} */
      const { sources } = JSON.parse(readFileSync(join(unpacked, file), 'utf8'))
      return sources
        .map((source) => join(dirname(file), source).replaceAll('\\', '/'))
        .filter((source) => !files.includes(source))
        .map((source) => `${file} points to ${source}, which is not shipped`)
    })
  const unresolved = Object.entries({
    ...manifest.dependencies,
    ...manifest.peerDependencies,
    ...manifest.optionalDependencies,
  })
    .filter(([, range]) => /^(workspace|catalog|file|link):/.test(range))
    .map(([name, range]) => `package.json depends on ${name} as ${range}`)
  return [...missing, ...unwanted, ...unmapped, ...unresolved]
}
