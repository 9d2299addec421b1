import type { StreamPart } from '../shared/api/client.ts'
import { type Answer, emptyAnswer, type ToolStep } from './message-content.ts'

/** Puts an answer together from the parts of a stream. */
export class AnswerBuilder {
  #answer: Answer
  #thinkingSince: number | undefined

  /** Goes on with what there is already. */
  constructor(begun: Answer = emptyAnswer) {
    this.#answer = { ...begun, cut: undefined }
  }

  get answer(): Answer {
    return this.#answer
  }

  add(part: StreamPart): void {
    if (part.type !== 'reasoning') this.#endThinking()
    if (part.type === 'delta') this.#change({ text: this.#answer.text + part.text })
    else if (part.type === 'reasoning') this.#think(part.text, part.signature)
    else if (part.type === 'source') this.#addSource(part)
    else if (part.type === 'usage') this.#change({ usage: usageOf(part), cut: part.cut })
    else this.#addTool(part)
  }

  /** Says that nothing more comes, though more was meant to. */
  interrupt(cut: 'stopped' | 'interrupted'): void {
    this.#endThinking()
    this.#change({ cut })
  }

  #change(change: Partial<Answer>): void {
    this.#answer = { ...this.#answer, ...change }
  }

  /** Pieces follow one another; a signature ends the thought that it belongs to. */
  #think(text: string, signature: string | undefined): void {
    this.#thinkingSince ??= Date.now()
    const { thoughts } = this.#answer
    const last = thoughts.at(-1)
    const isOpen = last !== undefined && last.signature === undefined
    const thought = { text: (isOpen ? last.text : '') + text, ...(signature !== undefined && { signature }) }
    this.#change({ thoughts: [...(isOpen ? thoughts.slice(0, -1) : thoughts), thought] })
  }

  #endThinking(): void {
    if (this.#thinkingSince === undefined) return
    const { thinkingSeconds = 0 } = this.#answer
    this.#change({ thinkingSeconds: thinkingSeconds + (Date.now() - this.#thinkingSince) / 1000 })
    this.#thinkingSince = undefined
  }

  #addSource({ url, title, places }: Extract<StreamPart, { type: 'source' }>): void {
    if (this.#answer.citations.some((known) => known.url === url)) return
    const source = { url, ...(title !== undefined && { title }), ...(places && { places }) }
    this.#change({ citations: [...this.#answer.citations, source] })
  }

  #addTool(part: StreamPart): void {
    const step = stepOf(part)
    if (!step) return
    const { tools } = this.#answer
    const isKnown = tools.some(({ id }) => id === step.id)
    this.#change({
      tools: isKnown ? tools.map((each) => (each.id === step.id ? { ...each, ...step } : each)) : [...tools, step],
    })
  }
}

function stepOf(part: StreamPart): ToolStep | undefined {
  if (part.type === 'tool-use') return { id: part.id, name: part.name, server: '', state: 'done' }
  if (part.type !== 'approval' && part.type !== 'tool-start' && part.type !== 'tool-run') return undefined
  const { id, tool: name, server, input, signature } = part
  const step = { id, name, server, input, signature }
  if (part.type === 'approval') return { ...step, state: 'waiting' }
  if (part.type === 'tool-start') return { ...step, state: 'running' }
  return { ...step, state: part.isError ? 'failed' : 'done', output: part.output }
}

const usageOf = ({
  inputTokens,
  outputTokens,
  cachedTokens,
  reasoningTokens,
}: Extract<StreamPart, { type: 'usage' }>) => ({
  inputTokens,
  outputTokens,
  cachedTokens,
  reasoningTokens,
})
