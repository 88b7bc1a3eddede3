// Empties the dist of the package it runs in, so that a deleted test cannot run again from there.
import { rmSync } from 'node:fs'

rmSync('dist', { recursive: true, force: true })
