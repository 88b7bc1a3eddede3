// `pnpm check`: all checks that do not run the code. A failed check does not prevent the next ones, so that one run
// shows everything to fix.
import { main, readArguments, run } from './workspace.mjs'

// By default, biome colors log files, too.
const colors = process.stdout.isTTY ? 'force' : 'off'

/** @type {Array<{ name: string, command: string[] }>} */
const checks = [
  { name: 'types', command: ['turbo', 'run', 'build', '--output-logs=errors-only'] },
  { name: 'types of scripts', command: ['tsc', '-p', 'scripts'] },
  {
    name: 'lint and format',
    command: ['biome', 'ci', '--error-on-warnings', `--colors=${colors}`, '.'],
  },
  { name: 'layers', command: ['node', 'scripts/check-layers.mjs'] },
  { name: 'architecture', command: ['node', 'scripts/check-architecture.mjs'] },
  { name: 'plain English', command: ['node', 'scripts/check-words.mjs'] },
  { name: 'commands in documents', command: ['node', 'scripts/check-commands.mjs'] },
  { name: 'public API', command: ['node', 'scripts/check-api.mjs'] },
  { name: 'unused code', command: ['knip'] },
  {
    name: 'manifests',
    command: ['sherif', '--fail-on-warnings', '--ignore-rule', 'non-existant-packages'],
  },
  { name: 'changesets', command: ['node', 'scripts/check-changesets.mjs'] },
]

readArguments('npx pnpm check', {})
await main(() => {
  const outcomes = checks.map(({ name, command: [tool = '', ...args] }) => {
    console.log(`\n== ${name}: ${[tool, ...args].join(' ')}`)
    const started = performance.now()
    const ok = run(tool, args)
    return { name, ok, seconds: (performance.now() - started) / 1000 }
  })

  console.log('')
  for (const { name, ok, seconds } of outcomes) {
    console.log(`${ok ? 'ok    ' : 'FAILED'} ${seconds.toFixed(1).padStart(6)} s  ${name}`)
  }
  const failed = outcomes.filter(({ ok }) => !ok).map(({ name }) => name)
  if (failed.length > 0) throw new Error(`check failed: ${failed.join(', ')}`)
})
