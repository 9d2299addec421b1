import { defineCommand, type SubCommandsDef } from 'citty'
import { z } from 'zod'
import type { CommandContext } from '../command-context.ts'
import { listWords, shells, writeScript } from '../completion.ts'

/** For the start file of a shell: `eval "$(svc completion bash)"`. */
export const completion = (context: CommandContext, program: string, commands: () => SubCommandsDef) =>
  defineCommand({
    meta: {
      description: `Print a script with which a shell completes commands and flags: eval "$(${program} completion bash)"`,
    },
    args: { shell: { type: 'positional', required: false, description: shells.join(' or ') } },
    async run({ args }) {
      const shell = await context.prompts.text({
        flag: 'SHELL',
        given: args.shell,
        message: 'For which shell',
        schema: z.enum(shells),
      })
      const script = writeScript(shell, program, await listWords(commands()))
      await context.write(
        (async function* () {
          yield script
        })(),
      )
    },
  })
