#!/usr/bin/env node
import { runVerbs } from '@tenure/app-kit'
import { program } from './program.js'

process.exitCode = await runVerbs(program, process)
