// Runs the named test files in this process: `node test-files.mjs <file> ...` in the folder of their package.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const names = process.argv.slice(2)
// tap names its directories after the arguments, and a name has at most 255 bytes.
process.argv.splice(3)
for (const name of names) await import(pathToFileURL(resolve(name)).href)
