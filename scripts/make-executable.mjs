// Makes the commands of the current package executable. npm does this for installed packages, but not in a clone.
import { chmodSync, readFileSync } from 'node:fs'

/** @type {import('./workspace.mjs').Manifest} */
const { bin = {} } = JSON.parse(readFileSync('package.json', 'utf8'))
for (const file of Object.values(bin)) chmodSync(file, 0o755)
