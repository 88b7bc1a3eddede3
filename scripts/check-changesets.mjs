// Checks that every visible change of a public package has a changeset before its release.
//
// The rule is the same on main and on a branch: a public package whose shipped files differ from
// its last release, the tag `<name>@<version>`, needs a changeset. So does one that was
// never released (version 0.0.0). A version without its tag is just being released:
// then its changelog must begin with that version. On a branch, `changeset status` also requires a
// changeset of the branch's own.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import getReleasePlan from '@changesets/get-release-plan'
import { attempt, listPackages, main, readArguments, root, run } from './workspace.mjs'

/** The shipped files of a package. Keep equal to `changedFilePatterns` in .changeset/config.json. */
const shipped = ['src', 'bin', 'package.json', 'README.md']

readArguments('node scripts/check-changesets.mjs', {})
await main(async () => {
  // Reads and validates every changeset: a malformed one, or an unknown package, is an error.
  const { releases } = await getReleasePlan(root)
  // The plan also contains private packages that depend on released ones, without a release.
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
  // A branch that sets versions has consumed the changesets.
  if (listPackages().some((pkg) => setsVersion(pkg, base))) return
  if (!run('changeset', ['status', `--since=${base}`])) {
    throw new Error(`This branch changes a package but has no changeset. (Compared with ${base}.)`)
  }
})

/**
 * Describes an unreleased change of the package that no changeset covers.
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

/** Whether the git command succeeds.
 * @param {string[]} args */
function git(...args) {
  const { error, status } = spawnSync('git', args, { cwd: root, stdio: 'ignore' })
  if (error) throw error
  return status === 0
}
