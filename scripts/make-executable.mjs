// Lets the commands of the package it runs in be started through a link: npm does this where it
// installs, and nobody does it in a clone.
import { chmodSync, readFileSync } from 'node:fs'

/** @type {import('./workspace.mjs').Manifest} */
const { bin = {} } = JSON.parse(readFileSync('package.json', 'utf8'))
for (const file of Object.values(bin)) chmodSync(file, 0o755)
