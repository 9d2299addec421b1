import type { StreamPart } from '../../ai/answer.ts'
import type { EventWriter } from '../../http/event-stream.ts'
import { toFailure } from '../../http/failure.ts'
import { toOpenAiError } from '../openai-errors.ts'
import { type CompletionHeader, finishReasons, toCitations, toLogprobs, toToolCall, toUsage } from './chat-response.ts'

/** Creates a writer of chat completion chunks, with a final usage chunk if requested. */
export function createChunkWriter(
  { custom, ...header }: CompletionHeader,
  shouldWriteUsage: boolean,
): EventWriter<StreamPart> {
  // Serialized once, because repeating it for each chunk would dominate the cost.
  const opening = JSON.stringify({ ...header, object: 'chat.completion.chunk' }).slice(0, -1)
  const writeChunk = (rest: string) => `data: ${opening},${rest}}\n\n`
  let hasBegun = false
  let calls = 0
  const writeChoice = (delta: object, finish: string | null = null, logprobs: object | null = null) => {
    const completeDelta = hasBegun ? delta : { role: 'assistant', ...delta }
    hasBegun = true
    const choice = `{"index":0,"delta":${JSON.stringify(completeDelta)},"logprobs":${JSON.stringify(logprobs)},"finish_reason":${JSON.stringify(finish)}}`
    return writeChunk(`"choices":[${choice}]${shouldWriteUsage ? ',"usage":null' : ''}`)
  }
  return {
    writePart(part) {
      switch (part.type) {
        case 'delta':
          return writeChoice({ content: part.text })
        case 'reasoning':
          return part.text ? writeChoice({ reasoning_content: part.text }) : ''
        case 'tool-call':
          return writeChoice({ tool_calls: [{ index: calls++, ...toToolCall(part, custom) }] })
        case 'source':
          return writeChoice({ annotations: toCitations(part) })
        case 'approval':
        case 'tool-start':
        case 'tool-run':
        case 'tool-use':
        case 'tool-result':
          // This API has no approvals, and does not report tools that the service runs.
          return ''
        case 'finish':
          // The tokens of all pieces come at once, and clients join them.
          return writeChoice({}, finishReasons[part.reason], toLogprobs(part.logprobs))
        case 'usage':
          return shouldWriteUsage ? writeChunk(`"choices":[],"usage":${JSON.stringify(toUsage(part))}`) : ''
      }
    },
    writeEnd: () => 'data: [DONE]\n\n',
    writeError: (thrown) => writeEvent({ error: toOpenAiError(toFailure(thrown)) }),
  }
}

const writeEvent = (data: object) => `data: ${JSON.stringify(data)}\n\n`
