// `pnpm check:packages`: checks every public package as users get it.
// Packs it, checks the tarball, installs all tarballs with plain npm into an empty project outside
// the workspace, and runs the example of each README there, as JavaScript and as TypeScript.
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect, isLibrary, packPublic } from './tarballs.mjs'
import { attempt, listPackages, main, read, readArguments, root, run } from './workspace.mjs'

/** @typedef {import('./tarballs.mjs').Tarball} Tarball */

/** The strictest options; without skipLibCheck, tsc checks the shipped declarations, too. */
const consumerTsconfig = {
  compilerOptions: {
    target: 'es2023',
    lib: ['es2023', 'esnext.disposable'],
    module: 'nodenext',
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
  },
  include: ['*.mts'],
}

/** The example of a README: the code block after this comment, `js` for a library or `sh` for an app. */
const example = /<!-- example -->\s*```(js|sh)\n(.*?)```/s

readArguments('npx pnpm check:packages', {})
await main(() => {
  if (!run('turbo', ['run', 'build', '--output-logs=errors-only'])) {
    throw new Error('The packages do not build.')
  }
  // Outside the workspace, so that nothing resolves to it by accident.
  const scratch = mkdtempSync(join(tmpdir(), 'tenure-packages-'))
  try {
    const problems = check(scratch)
    if (problems.length > 0) throw new Error(problems.join('\n'))
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
})

/**
 * @param {string} scratch
 * @returns {string[]} the problems found
 */
function check(scratch) {
  const tarballs = packPublic(listPackages(), root, join(scratch, 'tarballs'))
  console.log('== public API')
  const problems = run('node', ['scripts/check-api.mjs']) ? [] : ['a public API has changed']
  for (const tarball of tarballs) {
    const { name, version } = tarball.manifest
    console.log(`\n== ${name} ${version}`)
    const found = [
      ...inspect(tarball),
      ...notExecutable(tarball),
      ...objections('publint', ['--strict', tarball.file]),
      // An app exports no types.
      ...(isLibrary(tarball.manifest)
        ? objections('attw', ['--no-color', '--profile', 'esm-only', tarball.file])
        : []),
    ]
    console.log(found.length === 0 ? 'contents, publint and attw: all good' : 'see below')
    problems.push(...found.map((problem) => `${name}: ${problem}`))
  }
  const consumer = installInto(join(scratch, 'consumer'), tarballs)
  problems.push(...tarballs.flatMap((tarball) => runExample(consumer, tarball)))
  console.log('\n== the examples as TypeScript')
  if (!run('tsc', ['-p', consumer])) problems.push('the examples do not compile')
  return problems
}

/**
 * pnpm sets the executable bit in tarballs; links into a clone need it on the built files.
 * @param {Tarball} tarball
 * @returns {string[]}
 */
function notExecutable({ source: { dir, manifest } }) {
  return Object.values(manifest.bin ?? {}).flatMap((file) => {
    try {
      accessSync(join(root, dir, file), constants.X_OK)
      return []
    } catch {
      return [`${dir}/${file} is not executable`]
    }
  })
}

/**
 * @param {string} tool
 * @param {string[]} args
 * @returns {string[]} the output if the tool fails
 */
function objections(tool, args) {
  const { ok, output } = attempt(tool, args)
  return ok ? [] : [output]
}

/**
 * Installs the tarballs as a user would: with npm, into an empty project.
 * @param {string} consumer
 * @param {Tarball[]} tarballs
 */
function installInto(consumer, tarballs) {
  mkdirSync(consumer)
  const project = { name: 'consumer', private: true, type: 'module' }
  writeFileSync(join(consumer, 'package.json'), JSON.stringify(project))
  writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify(consumerTsconfig))
  const files = tarballs.map(({ file }) => file)
  const options = ['--no-audit', '--no-fund', '--loglevel=error']
  // npm must not see the environment variables that pnpm sets for scripts.
  const inherited = Object.keys(process.env).filter((key) => /^(npm|pnpm)_/i.test(key))
  const env = Object.fromEntries(inherited.map((key) => [key, undefined]))
  read('npm', ['install', ...options, '@types/node@20', ...files], { cwd: consumer, env })
  return consumer
}

/**
 * Runs the README's example where only the tarballs are installed: an app's in a shell, a library's as
 * JavaScript, which is also kept for tsc.
 * @param {string} consumer
 * @param {Tarball} tarball
 * @returns {string[]}
 */
function runExample(consumer, { unpacked, manifest }) {
  const { name } = manifest
  const readme = join(unpacked, 'README.md')
  const language = isLibrary(manifest) ? 'js' : 'sh'
  const [, found, code] = existsSync(readme)
    ? (example.exec(readFileSync(readme, 'utf8')) ?? [])
    : []
  if (code === undefined || found !== language) {
    return [`${name}: README.md has no \`\`\`${language} block after <!-- example -->`]
  }
  console.log(`\n== the example of ${name}`)
  const base = name.replace('@tenure/', '')
  const script = join(consumer, `${base}.${language === 'js' ? 'mjs' : 'sh'}`)
  writeFileSync(script, code)
  if (language === 'js') writeFileSync(join(consumer, `${base}.mts`), code)
  // Files that the example writes are removed with the rest.
  const cwd = join(consumer, `${base}-files`)
  mkdirSync(cwd)
  const command = language === 'js' ? ['node', script] : ['sh', '-e', script]
  if (run(command[0] ?? '', command.slice(1), { cwd, timeoutMs: 60_000 })) return []
  return [`${name}: the example fails`]
}
