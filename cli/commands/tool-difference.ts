import type { ToolDefinition } from '../../entities/catalogue/ai-tool.ts'

interface Described {
  name: string
  server: string
  definition: ToolDefinition
  approved: ToolDefinition | null
}

/** A tool as it describes itself now, below how it did when it was approved: - is gone, + is new. */
export function differenceOf({ name, server, definition, approved }: Described): string {
  const now = linesOf(definition)
  if (!approved) return [`${name} of ${server}, which is new:`, ...now].join('\n')
  const before = linesOf(approved)
  const common = commonLines(before, now)
  const gone = before.filter((_, at) => !common.before.has(at)).map((line) => `- ${line}`)
  const added = now.filter((_, at) => !common.now.has(at)).map((line) => `+ ${line}`)
  return [`${name} of ${server} says something else than when it was approved:`, ...gone, ...added].join('\n')
}

const linesOf = ({ description, capability, inputSchema }: ToolDefinition): string[] => [
  ...description.split('\n'),
  `capability: ${capability ?? '-'}`,
  ...JSON.stringify(inputSchema, null, 2).split('\n'),
]

/** The places of the lines that both have in the same order, so that all others are told. */
function commonLines(before: readonly string[], now: readonly string[]) {
  const found = { before: new Set<number>(), now: new Set<number>() }
  let from = 0
  for (const [at, line] of before.entries()) {
    const there = now.indexOf(line, from)
    if (there < 0) continue
    found.before.add(at)
    found.now.add(there)
    from = there + 1
  }
  return found
}
