import type { StreamPart } from '../../ai/answer.ts'
import type { Frames } from '../../http/event-stream.ts'
import { toFailure } from '../../http/failure.ts'
import { toOpenAiError } from '../openai-errors.ts'
import { finishReasons, type Heading, toCitations, toToolCall, toUsage } from './chat-response.ts'

/** An answer as chunks of a chat completion, the last of which has its usage where that is wanted. */
export function toChunks({ custom, ...heading }: Heading, withUsage: boolean): Frames<StreamPart> {
  // Written once: anew for each chunk, it would take several times as long as all the rest.
  const opening = JSON.stringify({ ...heading, object: 'chat.completion.chunk' }).slice(0, -1)
  const opened = (rest: string) => `data: ${opening},${rest}}\n\n`
  let isBegun = false
  let calls = 0
  const chunk = (delta: object, finish: string | null = null) => {
    const begun = isBegun ? delta : { role: 'assistant', ...delta }
    isBegun = true
    const choice = `{"index":0,"delta":${JSON.stringify(begun)},"logprobs":null,"finish_reason":${JSON.stringify(finish)}}`
    return opened(`"choices":[${choice}]${withUsage ? ',"usage":null' : ''}`)
  }
  return {
    part(part) {
      switch (part.type) {
        case 'delta':
          return chunk({ content: part.text })
        case 'reasoning':
          return part.text ? chunk({ reasoning_content: part.text }) : ''
        case 'tool-call':
          return chunk({ tool_calls: [{ index: calls++, ...toToolCall(part, custom) }] })
        case 'source':
          return chunk({ annotations: toCitations(part) })
        case 'approval':
        case 'tool-start':
        case 'tool-run':
        case 'tool-use':
        case 'tool-result':
          // Nobody is asked here, and told of no tools that others run.
          return ''
        case 'finish':
          return chunk({}, finishReasons[part.reason])
        case 'usage':
          return withUsage ? opened(`"choices":[],"usage":${JSON.stringify(toUsage(part))}`) : ''
      }
    },
    done: () => 'data: [DONE]\n\n',
    failed: (thrown) => frame({ error: toOpenAiError(toFailure(thrown)) }),
  }
}

const frame = (data: object) => `data: ${JSON.stringify(data)}\n\n`
