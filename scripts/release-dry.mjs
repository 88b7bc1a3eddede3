// `pnpm release:dry`: performs a whole release on a copy of the repository and shows the result.
// Versions and changelogs are written, the lockfile is checked, everything is built and packed; the
// work tree and the registry stay as they are.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { inspect, packPublic } from './tarballs.mjs'
import { listPackages, main, read, readArguments, root } from './workspace.mjs'

/** The author of the commits in the temporary copy. */
const author = ['-c', 'user.name=release', '-c', 'user.email=release@localhost']

readArguments('npx pnpm release:dry', {})
await main(() => {
  const scratch = mkdtempSync(join(tmpdir(), 'tenure-release-'))
  try {
    release(scratch)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
})

/** @param {string} scratch */
function release(scratch) {
  const copy = join(scratch, 'repository')
  copyRepository(copy)
  const before = new Map(
    listPackages(copy).map(({ manifest }) => [manifest.name, manifest.version]),
  )

  step('install', () => pnpm(copy, 'install', '--frozen-lockfile'))
  step('version', () => pnpm(copy, 'exec', 'changeset', 'version'))
  step('lockfile is up to date', () => pnpm(copy, 'install', '--frozen-lockfile'))
  step('format is correct', () =>
    pnpm(copy, 'exec', 'biome', 'ci', '--error-on-warnings', '--colors=off', '.'),
  )
  step('commit', () => commit(copy, 'release'))
  step('changesets are consumed', () => pnpm(copy, 'exec', 'node', 'scripts/check-changesets.mjs'))
  step('build', () => pnpm(copy, 'run', 'build'))

  const packages = listPackages(copy)
  /** @type {import('./tarballs.mjs').Tarball[]} */
  let tarballs = []
  step('pack', () => {
    tarballs = packPublic(packages, copy, join(scratch, 'tarballs'))
  })

  const problems = []
  for (const tarball of tarballs) {
    const { name, version } = tarball.manifest
    const old = before.get(name)
    console.log(
      `\n== ${name} ${old === version ? `${version}, unchanged` : `${old} -> ${version}`}`,
    )
    console.log(`${tarball.file.slice(scratch.length + 1)}, ${statSync(tarball.file).size} bytes`)
    problems.push(...inspect(tarball).map((problem) => `${name}: ${problem}`))
    if (old === version) continue
    const entry = changelogEntry(join(copy, tarball.source.dir, 'CHANGELOG.md'), version)
    if (entry === undefined) problems.push(`${name}: CHANGELOG.md has no section for ${version}`)
    else console.log(`\n${entry}`)
  }
  if (problems.length > 0) throw new Error(problems.join('\n'))
  const released = tarballs.filter(({ manifest }) => before.get(manifest.name) !== manifest.version)
  console.log(`\n${released.length} of ${tarballs.length} public packages would be released.`)
}

/**
 * Copies all tracked and new files, as one commit on main.
 * @param {string} copy
 */
function copyRepository(copy) {
  const listed = read('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'])
  // The index may still contain deleted files.
  const files = listed.split('\0').filter((file) => file !== '' && existsSync(join(root, file)))
  for (const file of files) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    cpSync(join(root, file), join(copy, file))
  }
  read('git', ['init', '--quiet', '--initial-branch=main'], { cwd: copy })
  commit(copy, 'before the release')
}

/**
 * @param {string} copy
 * @param {string} message
 */
function commit(copy, message) {
  read('git', ['add', '--all'], { cwd: copy })
  read('git', [...author, 'commit', '--quiet', '--allow-empty', '--message', message], {
    cwd: copy,
  })
}

/**
 * @param {string} copy
 * @param {string[]} args
 */
function pnpm(copy, ...args) {
  read('pnpm', args, { cwd: copy })
}

/**
 * @param {string} name
 * @param {() => void} work
 */
function step(name, work) {
  const started = performance.now()
  work()
  console.log(`ok ${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${name}`)
}

/**
 * The changelog's section about a version.
 * @param {string} file
 * @param {string} version
 */
function changelogEntry(file, version) {
  if (!existsSync(file)) return undefined
  const entries = readFileSync(file, 'utf8').split(/^(?=## )/m)
  return entries.find((entry) => entry.startsWith(`## ${version}\n`))?.trim()
}
