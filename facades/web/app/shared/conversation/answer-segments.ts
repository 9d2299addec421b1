import type { Answer, ToolStep } from './answer.ts'

/** Tool calls, and the text that follows them. */
export interface AnswerSegment {
  /** The index of the text in that of the answer. */
  start: number
  tools: readonly ToolStep[]
  text: string
}

/** Splits an answer at its tool calls. Answers of earlier versions have them before the text. */
export function splitAnswer({ text, tools }: Pick<Answer, 'text' | 'tools'>): AnswerSegment[] {
  const toolsByStart = Map.groupBy(tools, ({ at = 0 }) => Math.min(at, text.length))
  const starts = [...new Set([0, ...toolsByStart.keys()])].toSorted((one, other) => one - other)
  return starts.map((start, index) => ({
    start,
    tools: toolsByStart.get(start) ?? [],
    text: text.slice(start, starts[index + 1]),
  }))
}

/** Returns the text of an answer with a paragraph for what comes before and after each tool call. */
export function joinTexts(answer: Pick<Answer, 'text' | 'tools'>): string {
  const segments = splitAnswer(answer)
  if (segments.length === 1) return answer.text
  return segments
    .map(({ text }) => text.trim())
    .filter((text) => text !== '')
    .join('\n\n')
}
