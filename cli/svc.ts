#!/usr/bin/env node
import { main } from './main.ts'
import { svc } from './programs.ts'
import { processTerminal } from './terminal.ts'

process.exitCode = await main(svc, process.argv.slice(2), processTerminal())
