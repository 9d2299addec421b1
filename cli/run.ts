import { main } from './main.ts'
import { svc, svcConsole } from './programs.ts'
import { processTerminal } from './terminal.ts'

const programs = { svc, 'svc-console': svcConsole }

/** Runs the command line of this process. */
export async function run(name: keyof typeof programs): Promise<void> {
  process.exitCode = await main(programs[name], process.argv.slice(2), processTerminal())
}
