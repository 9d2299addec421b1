import { answersWithBlocks } from './anthropic.ts'
import type { Body, TokenCounts } from './dialects/dialect.ts'
import { toMessageUsage } from './dialects/messages.ts'
import type { Behaviour } from './provider.ts'

type Block = Record<string, unknown>

/** Blocks before a mark at which the cache looks for an earlier prefix, as Anthropic's does. */
const LOOK_BACK = 20

const count = (text: string) => Math.ceil(text.length / 4)

/**
 * Counts the tokens of requests as Anthropic does, whose cache keeps the blocks of a request up to each mark; a token
 * is four characters.
 */
export function createPromptCache() {
  const cached = new Set<string>()
  return (body: Body): TokenCounts => {
    const { prefixes, marks } = readPrefixes(body)
    const end = Math.max(-1, ...marks)
    const isNear = (at: number) => marks.some((mark) => at <= mark && at > mark - LOOK_BACK)
    const hit = prefixes.findLastIndex((prefix, at) => isNear(at) && cached.has(prefix))
    const [whole, marked, read] = [prefixes.at(-1), prefixes[end], prefixes[hit]].map((text = '') => count(text))
    for (const mark of marks) cached.add(prefixes[mark] ?? '')
    return { input: whole ?? 0, cached: read ?? 0, cacheWrite: (marked ?? 0) - (read ?? 0), output: 3, reasoning: 0 }
  }
}

/** Answers with a text, and with the tokens that the cache counts. */
export function answersFromCache(): Behaviour {
  const countTokens = createPromptCache()
  return (request, response) => {
    const usage = toMessageUsage(countTokens(request.body))
    const content = [{ type: 'text', text: 'Good day to you.' }]
    return answersWithBlocks(content, { stop_reason: 'end_turn', usage })(request, response)
  }
}

/** Lists the text up to each block, in the order of the cache, and the indexes of the marked blocks. */
function readPrefixes({ tools = [], system = [], messages, cache_control }: Body) {
  const turns = (messages as { role: string; content: Block[] }[]).flatMap(({ role, content }) =>
    content.map((block): Block => ({ role, ...block })),
  )
  const blocks = [...(tools as Block[]), ...(system as Block[]), ...turns]
  const marks = blocks.flatMap((block, at) => (block['cache_control'] ? [at] : []))
  const prefixes: string[] = []
  for (const { cache_control: _, ...block } of blocks) prefixes.push(`${prefixes.at(-1) ?? ''}${JSON.stringify(block)}`)
  return { prefixes, marks: cache_control ? [...marks, blocks.length - 1] : marks }
}
