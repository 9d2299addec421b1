import { parsed } from '../../../routers/ports/ai/tool-calls.ts'
import type { UsageMeter } from '../../../routers/ports/ai/usage-meter.ts'
import { usageOfWhole } from './reported-usage.ts'

/** What models say, in the members that the providers have for it; `reasoning_details` has thoughts as `text`. */
const said =
  /"(?:(reasoning_details)"|(content|text|thinking|reasoning|reasoning_content|arguments|delta)"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*))/g

/** In characters: longer than any answer of a model. */
const MAX_READ = 1_000_000

/** Counts what can be read of an answer that came and is none. */
export function measureUnparsable(error: unknown, meter: UsageMeter): void {
  const { responseBody } = error as { responseBody?: unknown }
  if (typeof responseBody !== 'string') return
  for (const text of textsIn(responseBody.slice(0, MAX_READ))) meter.receive(text, 'answer')
  meter.report(usageOfWhole(parsed(responseBody)))
}

const thoughts = new Set(['reasoning', 'reasoning_content', 'reasoning_details'])

function* textsIn(body: string): Generator<string, void> {
  const isRepeated = repetitions()
  let isInDetails = false
  for (const [, details, name = '', text = ''] of body.matchAll(said)) {
    isInDetails = details !== undefined || (isInDetails && name === 'text')
    if (!details && !isRepeated(isInDetails ? 'reasoning_details' : name, text)) yield text
  }
}

/** Some servers say each thought in several members, one after the other. */
function repetitions() {
  let last = ''
  const members = new Set<string>()
  return (member: string, text: string): boolean => {
    if (!thoughts.has(member)) return false
    const isRepeated = text === last && members.size > 0 && !members.has(member)
    if (!isRepeated) members.clear()
    members.add(member)
    last = text
    return isRepeated
  }
}
