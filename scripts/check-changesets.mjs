// Every change that a user of a public package can see has a changeset before it is released.
//
// The rule is the same on main and on a branch: a public package whose shipped files differ from
// its last release, the tag `<name>@<version>`, is named by a changeset. One that was never
// released (version 0.0.0) needs one too. A version without its tag is being released just now:
// then its changelog must begin with that version. On a branch `changeset status` adds that the
// branch brings a changeset of its own.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import getReleasePlan from '@changesets/get-release-plan'
import { attempt, listPackages, main, readArguments, root, run } from './workspace.mjs'

/** What a tarball is made of. The same list is `changedFilePatterns` in .changeset/config.json. */
const shipped = ['src', 'bin', 'package.json', 'README.md']

readArguments('node scripts/check-changesets.mjs', {})
await main(async () => {
  // Reads and validates every changeset: a malformed one, or an unknown package, is an error.
  const { releases } = await getReleasePlan(root)
  // A private package that depends on a released one is in the plan as well, with nothing to do.
  const planned = new Map(
    releases
      .filter(({ type }) => type !== 'none')
      .map(({ name, newVersion }) => [name, newVersion]),
  )
  const problems = listPackages()
    .filter(({ manifest }) => manifest.private !== true && !planned.has(manifest.name))
    .flatMap(({ dir, manifest: { name, version } }) => {
      const problem = unreleasedChange(dir, name, version)
      return problem === undefined ? [] : [`${name}: ${problem}`]
    })
  if (problems.length > 0) {
    throw new Error(`${problems.join('\n')}\nDescribe the change with: pnpm exec changeset`)
  }
  for (const [name, version] of planned) console.log(`${name} will be released as ${version}`)

  const base = ['main', 'origin/main'].find((ref) => git('rev-parse', '--verify', '--quiet', ref))
  if (base === undefined || git('merge-base', '--is-ancestor', 'HEAD', base)) return
  // A branch that writes versions has used the changesets up.
  if (listPackages().some((pkg) => setsVersion(pkg, base))) return
  if (!run('changeset', ['status', `--since=${base}`])) {
    throw new Error(
      `This branch changes a package, but brings no changeset. (Compared with ${base}.)`,
    )
  }
})

/**
 * What of the package is neither released nor described, if anything.
 * @param {string} dir
 * @param {string} name
 * @param {string} version
 */
function unreleasedChange(dir, name, version) {
  if (version === '0.0.0')
    return 'it was never released, and no changeset describes its first release'
  const tag = `${name}@${version}`
  if (git('rev-parse', '--verify', '--quiet', `refs/tags/${tag}`)) {
    const paths = shipped.map((path) => `${dir}/${path}`)
    if (git('diff', '--quiet', tag, '--', ...paths)) return undefined
    return `it differs from ${tag}, and no changeset says how`
  }
  const changelog = join(root, dir, 'CHANGELOG.md')
  const versions = existsSync(changelog) ? readFileSync(changelog, 'utf8').match(/^## .+$/gm) : null
  if (versions?.[0] === `## ${version}`) return undefined
  return `version ${version} has neither a tag ${tag} nor the first place in its CHANGELOG.md`
}

/**
 * @param {import('./workspace.mjs').Package} pkg
 * @param {string} base
 */
function setsVersion({ dir, manifest }, base) {
  const { ok, stdout } = attempt('git', ['show', `${base}:${dir}/package.json`])
  return ok && JSON.parse(stdout).version !== manifest.version
}

/** @param {string[]} args whether git says yes */
function git(...args) {
  const { error, status } = spawnSync('git', args, { cwd: root, stdio: 'ignore' })
  if (error) throw error
  return status === 0
}
