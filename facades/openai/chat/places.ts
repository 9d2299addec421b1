import { placeAmong } from '../tools.ts'
import { messagePlace } from './messages.ts'
import type { ChatRequest } from './request.ts'

type Path = readonly (string | number)[]

/** Where in the request stands what a path of ours leads to. */
export function chatPlace({ messages, tools, ...asked }: ChatRequest, path: Path): Path {
  const [root, name] = path
  if (root === 'parameters' && name === 'maxTokens' && asked.max_completion_tokens != null)
    return ['max_completion_tokens']
  return root === 'messages' ? messagePlace(messages, path) : placeAmong(tools, path)
}
