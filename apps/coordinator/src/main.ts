#!/usr/bin/env node
import { runCommand } from '@tenure/app-kit'
import { command } from './program.js'

process.exitCode = await runCommand(command, process)
