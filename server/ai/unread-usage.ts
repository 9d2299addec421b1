import type { UsageMeter } from '../../routers/ports/ai/models.ts'
import { parsed } from '../../routers/ports/ai/tool-calls.ts'
import { usageOfWhole } from './reported-usage.ts'

/** What models say, in the members that the providers have for it. */
const said = /"(?:content|text|thinking|reasoning|reasoning_content|arguments)"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)/g

/** In characters: longer than any answer of a model. */
const MAX_READ = 1_000_000

/** Counts what can be read of an answer that came and is none. */
export function measureUnread(error: unknown, meter: UsageMeter): void {
  const { responseBody } = error as { responseBody?: unknown }
  if (typeof responseBody !== 'string') return
  const texts = [...responseBody.slice(0, MAX_READ).matchAll(said)].map(([, text = '']) => text)
  // Some servers say each thought in two members.
  for (const text of new Set(texts)) meter.receive(text, 'answer')
  meter.report(usageOfWhole(parsed(responseBody)))
}
