import { answersWithBlocks } from './anthropic.ts'
import type { Behaviour, ProviderRequest } from './provider.ts'

type Block = Record<string, unknown>

/** Blocks before a mark at which the cache looks for an earlier prefix, as Anthropic's does. */
const LOOK_BACK = 20

const count = (text: string) => Math.ceil(text.length / 4)

/** Answers as Anthropic does, whose cache keeps the blocks of a request up to each mark; a token is four characters. */
export function answersFromCache(): Behaviour {
  const cached = new Set<string>()
  return (request, response) => {
    const { prefixes, marks } = readPrefixes(request.body)
    const end = Math.max(-1, ...marks)
    const isNear = (at: number) => marks.some((mark) => at <= mark && at > mark - LOOK_BACK)
    const hit = prefixes.findLastIndex((prefix, at) => isNear(at) && cached.has(prefix))
    const [whole, marked, read] = [prefixes.at(-1), prefixes[end], prefixes[hit]].map((text = '') => count(text))
    for (const mark of marks) cached.add(prefixes[mark] ?? '')
    const usage = {
      input_tokens: (whole ?? 0) - (marked ?? 0),
      cache_read_input_tokens: read,
      cache_creation_input_tokens: (marked ?? 0) - (read ?? 0),
      output_tokens: 3,
    }
    return answersWithBlocks([{ type: 'text', text: 'Good day to you.' }], { stop_reason: 'end_turn', usage })(
      request,
      response,
    )
  }
}

/** Lists the text up to each block, in the order of the cache, and the indexes of the marked blocks. */
function readPrefixes({ tools = [], system = [], messages, cache_control }: ProviderRequest['body'] & Block) {
  const turns = (messages as unknown as { role: string; content: Block[] }[]).flatMap(({ role, content }) =>
    content.map((block): Block => ({ role, ...block })),
  )
  const blocks = [...(tools as Block[]), ...(system as Block[]), ...turns]
  const marks = blocks.flatMap((block, at) => (block['cache_control'] ? [at] : []))
  const prefixes: string[] = []
  for (const { cache_control: _, ...block } of blocks) prefixes.push(`${prefixes.at(-1) ?? ''}${JSON.stringify(block)}`)
  return { prefixes, marks: cache_control ? [...marks, blocks.length - 1] : marks }
}
