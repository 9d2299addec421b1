import type { StreamPart } from '../api/types.ts'
import { type Answer, type CitedPassage, emptyAnswer, type Source, type ToolStep } from './answer.ts'
import { wasRefused } from './approvals.ts'

/** Builds an answer from the parts of a stream. */
export class AnswerBuilder {
  #answer: Answer
  #thinkingSince: number | undefined

  /** Continues an answer that was cut. */
  constructor(initial: Answer = emptyAnswer) {
    this.#answer = { ...initial, cut: undefined }
  }

  get answer(): Answer {
    return this.#answer
  }

  add(part: StreamPart): void {
    if (part.type !== 'reasoning') this.#endThinking()
    if (part.type === 'delta') this.#update({ text: this.#answer.text + part.text })
    else if (part.type === 'reasoning') this.#appendThought(part.text, part.signature)
    else if (part.type === 'source') this.#addSource(part)
    else if (part.type === 'usage') this.#addUsage(part)
    else this.#addTool(part)
  }

  #addUsage(part: Extract<StreamPart, { type: 'usage' }>): void {
    const { cut, answeredBy, assistant } = part
    this.#update({
      usage: addUsage(this.#answer.usage, part),
      cut,
      ...(answeredBy !== undefined && { answeredBy }),
      ...(assistant !== undefined && { assistant }),
    })
  }

  /** Marks the answer as incomplete. */
  interrupt(cut: 'stopped' | 'interrupted'): void {
    this.#endThinking()
    this.#update({ cut })
  }

  #update(change: Partial<Answer>): void {
    this.#answer = { ...this.#answer, ...change }
  }

  /** Appends to the last thought, unless that already has its signature; a signature ends a thought. */
  #appendThought(text: string, signature: string | undefined): void {
    this.#thinkingSince ??= Date.now()
    const { thoughts } = this.#answer
    const last = thoughts.at(-1)
    const isOpen = last !== undefined && last.signature === undefined
    const thought = { text: (isOpen ? last.text : '') + text, ...(signature !== undefined && { signature }) }
    this.#update({ thoughts: [...(isOpen ? thoughts.slice(0, -1) : thoughts), thought] })
  }

  #endThinking(): void {
    if (this.#thinkingSince === undefined) return
    const { thinkingSeconds = 0 } = this.#answer
    this.#update({ thinkingSeconds: thinkingSeconds + (Date.now() - this.#thinkingSince) / 1000 })
    this.#thinkingSince = undefined
  }

  #addSource({ url, title, places, passage }: Extract<StreamPart, { type: 'source' }>): void {
    if (this.#answer.citations.some((citation) => citation.url === url)) return
    const { text: _, ...place } = passage ?? {}
    const source: Source = {
      url,
      ...(title !== undefined && { title }),
      ...(places && { places }),
      ...(passage && { passage: place as CitedPassage }),
    }
    this.#update({ citations: [...this.#answer.citations, source] })
  }

  #addTool(part: StreamPart): void {
    const { tools } = this.#answer
    const step = toToolStep(part, tools)
    if (!step) return
    const isKnown = tools.some(({ id }) => id === step.id)
    this.#update({
      tools: isKnown
        ? tools.map((each) => (each.id === step.id ? { ...each, ...step } : each))
        : [...tools, { ...step, at: this.#answer.text.length }],
    })
  }
}

/**
 * Returns the tool call that a part reports on. For a call that needs approval, the service reports the start under one
 * id and asks for the approval under another.
 */
function toToolStep(part: StreamPart, tools: readonly ToolStep[]): ToolStep | undefined {
  if (part.type === 'tool-use') return toStartedStep(part)
  if (part.type === 'tool-result') return toFinishedStep(part, tools)
  if (part.type !== 'approval' && part.type !== 'tool-start' && part.type !== 'tool-run') return undefined
  const { id, tool: name, server, input, signature } = part
  const step = { id, name, server, input, signature }
  if (part.type === 'tool-start') return { ...step, state: 'running' }
  if (part.type === 'tool-run') return { ...step, state: part.isError ? 'failed' : 'done', output: part.output }
  const started = tools.find((each) => each.name === name && each.state === 'running' && each.question === undefined)
  return { ...step, id: started?.id ?? id, question: id, state: 'waiting' }
}

const toStartedStep = ({ id, name, input, by }: Extract<StreamPart, { type: 'tool-use' }>): ToolStep => ({
  id,
  name,
  server: '',
  input: parseArguments(input),
  state: by === 'provider' ? 'done' : 'running',
})

function toFinishedStep(
  { id, name, output, isError }: Extract<StreamPart, { type: 'tool-result' }>,
  tools: readonly ToolStep[],
): ToolStep {
  const started = tools.find((each) => each.id === id)
  const result = { server: '', ...started, id, name, output }
  if (wasRefused(started?.question)) return { ...result, state: 'refused' }
  return { ...result, state: isError ? 'failed' : 'done' }
}

/** Parses the arguments of a call, which need not be JSON. */
function parseArguments(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}

/** Adds up the usage of an answer and of the answer that it continues. */
function addUsage(before: Answer['usage'], part: Extract<StreamPart, { type: 'usage' }>): NonNullable<Answer['usage']> {
  const cost = part.cost && { ...part.cost, micros: part.cost.micros + (before?.cost?.micros ?? 0) }
  return {
    inputTokens: part.inputTokens + (before?.inputTokens ?? 0),
    outputTokens: part.outputTokens + (before?.outputTokens ?? 0),
    cachedTokens: part.cachedTokens + (before?.cachedTokens ?? 0),
    cacheWriteTokens: part.cacheWriteTokens + (before?.cacheWriteTokens ?? 0),
    reasoningTokens: part.reasoningTokens + (before?.reasoningTokens ?? 0),
    contextTokens: part.inputTokens + part.outputTokens - part.reasoningTokens,
    ...(cost && { cost }),
  }
}
