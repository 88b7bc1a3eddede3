// Removes the dist folder of the current package, so that tests that no longer exist cannot run.
import { rmSync } from 'node:fs'

rmSync('dist', { recursive: true, force: true })
