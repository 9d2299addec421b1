#!/usr/bin/env node
import { main } from './main.ts'
import { svcConsole } from './programs.ts'
import { processTerminal } from './terminal.ts'

process.exitCode = await main(svcConsole, process.argv.slice(2), processTerminal())
