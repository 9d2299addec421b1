import type { AnswerLogprob, TokenLogprob } from '../../routers/ports/ai/models.ts'

/** More tokens than any answer has. */
const MAX_TOKENS = 50_000
const MAX_ALTERNATIVES = 20

/** Collects how likely the tokens of an answer were, as a server reports it in its events. */
export class LogprobReader {
  readonly tokens: AnswerLogprob[] = []

  /** Reads the member `logprobs` of a choice; anything but complete tokens is skipped. */
  read(logprobs: unknown): void {
    for (const entry of listEntries(logprobs, 'content')) {
      const token = readToken(entry)
      if (!token || this.tokens.length >= MAX_TOKENS) continue
      const alternatives = listEntries(entry, 'top_logprobs').slice(0, MAX_ALTERNATIVES)
      this.tokens.push({ ...token, top_logprobs: alternatives.flatMap((one) => readToken(one) ?? []) })
    }
  }
}

function listEntries(value: unknown, name: string): readonly unknown[] {
  const entries = (value as Record<string, unknown> | null | undefined)?.[name]
  return Array.isArray(entries) ? entries : []
}

function readToken(value: unknown): TokenLogprob | undefined {
  const { token, logprob, bytes } = (value ?? {}) as Record<string, unknown>
  if (typeof token !== 'string' || typeof logprob !== 'number') return undefined
  const isBytes = Array.isArray(bytes) && bytes.every((byte) => typeof byte === 'number')
  return { token, logprob, bytes: isBytes ? bytes : null }
}
