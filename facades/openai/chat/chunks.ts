import type { StreamPart } from '../../ai/types.ts'
import type { Frames } from '../../http/event-stream.ts'
import { failureOf } from '../../http/failure.ts'
import { errorOf } from '../errors.ts'
import { citationOf, finishReasons, type Heading, toolCallOf, usageOf } from './completion.ts'

/** An answer as chunks of a chat completion, the last of which has its usage where that is wanted. */
export function chunksOf(heading: Heading, withUsage: boolean): Frames<StreamPart> {
  const head = { ...heading, object: 'chat.completion.chunk' }
  const opening = JSON.stringify(head).slice(0, -1)
  let isBegun = false
  let calls = 0
  const chunk = (delta: object, finish: string | null = null) => {
    const begun = isBegun ? delta : { role: 'assistant', ...delta }
    isBegun = true
    // Writing all of it anew for each piece would take several times as long.
    const choice = `{"index":0,"delta":${JSON.stringify(begun)},"logprobs":null,"finish_reason":${JSON.stringify(finish)}}`
    return `data: ${opening},"choices":[${choice}]${withUsage ? ',"usage":null' : ''}}\n\n`
  }
  return {
    part(part) {
      switch (part.type) {
        case 'delta':
          return chunk({ content: part.text })
        case 'reasoning':
          return part.text ? chunk({ reasoning_content: part.text }) : ''
        case 'tool-call':
          return chunk({ tool_calls: [{ index: calls++, ...toolCallOf(part) }] })
        case 'source':
          return chunk({ annotations: [citationOf(part)] })
        case 'approval':
        case 'tool-start':
        case 'tool-run':
          // Nobody is asked here.
          return ''
        case 'finish':
          return chunk({}, finishReasons[part.reason])
        case 'usage':
          return withUsage ? frame({ ...head, choices: [], usage: usageOf(part) }) : ''
      }
    },
    done: () => 'data: [DONE]\n\n',
    failed: (thrown) => frame({ error: errorOf(failureOf(thrown)) }),
  }
}

const frame = (data: object) => `data: ${JSON.stringify(data)}\n\n`
