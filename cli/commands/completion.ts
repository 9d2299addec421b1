import { type ArgsDef, defineCommand, type SubCommandsDef } from 'citty'
import { z } from 'zod'
import type { CommandContext } from '../command-context.ts'
import { type AnyCommand, resolveValue } from '../command-tree.ts'

/** Prints a script that a shell reads when it starts, by `eval "$(svc completion bash)"`. */
export const completionCommand = (context: CommandContext, program: string, commands: () => SubCommandsDef) =>
  defineCommand({
    meta: {
      description: `Print a script with which a shell completes commands and flags: eval "$(${program} completion bash)".`,
    },
    args: { shell: { type: 'positional', required: false, description: `The shell: ${shells.join(' or ')}.` } },
    async run({ args }) {
      const shell = await context.prompts.askText({
        flag: 'SHELL',
        value: args.shell,
        message: 'For which shell',
        schema: z.enum(shells),
      })
      const script = writeScript(shell, program, await listWords(commands()))
      await context.write([script])
    },
  })

const shells = ['bash', 'zsh'] as const
type Shell = (typeof shells)[number]

/** Words that may follow a command, by the path of the command; the root has an empty path. */
type WordsByCommand = Map<string, string[]>

/** Lists the subcommands and flags of all commands. */
async function listWords(commands: SubCommandsDef, path: string[] = []): Promise<WordsByCommand> {
  const words: WordsByCommand = new Map([[path.join(' '), Object.keys(commands)]])
  for (const [name, command] of Object.entries(commands)) {
    const { subCommands, args } = (await resolveValue(command)) as AnyCommand
    const flags = Object.entries(((await resolveValue(args)) ?? {}) as ArgsDef).flatMap(([flag, { type }]) =>
      type === 'positional' ? [] : [`--${flag}`],
    )
    const below = await listWords((await resolveValue(subCommands)) ?? {}, [...path, name])
    const [own = '', names = []] = [...below][0] ?? []
    for (const entry of below) words.set(...entry)
    words.set(own, [...names, ...flags, '--help'])
  }
  return words
}

/** Writes a script with which the shell completes commands and flags without starting the program. */
const writeScript = (shell: Shell, program: string, words: WordsByCommand): string =>
  shell === 'bash' ? writeBashScript(program, words) : writeZshScript(program, words)

/** Writes shell code that follows the words before the cursor as long as they are commands. */
const writePathCases = (words: WordsByCommand) => `\
    case "$at $word" in
      ${[...words.keys()]
        .filter(Boolean)
        .map((path) => `' ${path}'`)
        .join('|')}) at="$at $word" ;;
    esac`

const writeCandidates = (words: WordsByCommand) =>
  [...words].map(([path, next]) => `    '${path && ` ${path}`}') next='${next.join(' ')}' ;;`).join('\n')

/** bash splits words at colons, so the part before the last colon must not be completed again. */
const writeBashScript = (program: string, words: WordsByCommand) => `\
_${toFunctionName(program)}() {
  local at='' next='' word line current
  read -ra line <<<"\${COMP_LINE:0:COMP_POINT}"
  [[ \${COMP_LINE:0:COMP_POINT} == *' ' ]] && line+=('')
  current=\${line[-1]}
  for word in "\${line[@]:1:\${#line[@]}-2}"; do
${writePathCases(words)}
  done
  case "$at" in
${writeCandidates(words)}
  esac
  COMPREPLY=($(compgen -W "$next" -- "$current"))
  [[ $COMP_WORDBREAKS == *:* && $current == *:* ]] && COMPREPLY=("\${COMPREPLY[@]#"\${current%"\${current##*:}"}"}")
  return 0
}
complete -F _${toFunctionName(program)} ${program}
`

const writeZshScript = (program: string, words: WordsByCommand) => `\
#compdef ${program}
_${toFunctionName(program)}() {
  local at='' next='' word
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
${writePathCases(words)}
  done
  case "$at" in
${writeCandidates(words)}
  esac
  compadd -- \${=next}
}
compdef _${toFunctionName(program)} ${program}
`

const toFunctionName = (program: string) => program.replace('-', '_')
