import type { Issue } from '../../core/problems.ts'
import type { AskedMessage } from './request.ts'

type Path = Issue['path']

/** Calls of tools without a result, and results without a call: no provider takes either. */
export function unpairedTools(messages: readonly AskedMessage[]): Issue[] {
  const open = new Map<string, Path>()
  const stray: Path[] = []
  for (const { part, talk, path } of partsOf(messages)) {
    if (part.type === 'tool-call') open.set(`${talk} ${part.id}`, path)
    else if (part.type === 'tool-result' && !open.delete(`${talk} ${part.id}`)) stray.push([...path, 'id'])
  }
  return [
    ...stray.map((path) => ({ path, message: 'answers no call before it' })),
    ...[...open.values()].map((path) => ({ path, message: 'has no result' })),
  ]
}

/** All parts with their paths, and which turn they belong to: results belong to what the assistant said before them. */
function* partsOf(messages: readonly AskedMessage[]) {
  let talk = -1
  for (const [at, { role, content }] of messages.entries()) {
    const goesOn = role === 'assistant' && messages[at - 1]?.role === 'assistant'
    if (role !== 'tool' && !goesOn) talk = at
    for (const [index, part] of content.entries()) yield { part, talk, path: ['messages', at, 'content', index] }
  }
}
