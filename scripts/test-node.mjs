// `pnpm test:node 24`: runs the tests on another version of Node, which npm downloads.
import { main, run } from './workspace.mjs'

const usage =
  'Usage: npx pnpm test:node <20 | 22 | 24 | an exact version such as 22.13.0> [arguments of pnpm test]'

await main(() => {
  const [version = '', ...args] = process.argv.slice(2)
  if (!/^(20|22|24)(\.\d+\.\d+)?$/.test(version)) {
    throw new Error(`Tests run on Node 20, 22 or 24, not on ${JSON.stringify(version)}.\n${usage}`)
  }
  const command = ['--yes', '--package', `node@${version}`, '--package', 'pnpm@12', '--']
  if (!run('npx', [...command, 'pnpm', 'test', ...args])) {
    throw new Error(`The tests failed on Node ${version}.`)
  }
})
