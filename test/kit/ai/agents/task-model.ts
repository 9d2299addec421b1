import { completions, mistral } from '../dialects/completions.ts'
import { type Dialect, type Said, saying, type Wanted } from '../dialects/dialect.ts'
import { generateContent } from '../dialects/generate-content.ts'
import { messages } from '../dialects/messages.ts'
import { responses } from '../dialects/responses.ts'
import { type Behaviour, beginStream, json } from '../provider.ts'

/** A call of one of the tools of an agent. */
export interface Step {
  tool: string
  input: object
}

/** The last word of a model that has taken all steps. */
export const DONE = 'All steps are done.'

/** How a model sums up a conversation. */
export const SUMMARY = 'A summary of what was done so far.'

/** Words by which the model knows the request for the task, and that for a summary, among others that agents make. */
export const TASK = 'Carry out the greeting task'
const COMPACTION = /summary of (?:the|our|this) conversation|CHECKPOINT COMPACTION/i

const counted = { input: 1000, output: 50, cached: 0, cacheWrite: 0, reasoning: 0 }

/** A model of any kind of provider, by the address that it is asked at. */
export const speaking =
  (answerOf: (wanted: Wanted, sent: string) => Said): Behaviour =>
  ({ path, body, sent }, response) => {
    const dialect = dialectAt(path)
    const answer = answerOf(dialect.read(body), sent)
    if (!body.stream && !path.includes(':stream')) return json(response, dialect.whole(answer))
    beginStream(response)
    response.end(dialect.events(answer, body).join(''))
  }

/** A model that takes the steps of a task one by one, as it is shown the results of those before. */
export function taskModel(steps: readonly Step[]) {
  /** What it answered, in order. */
  const said: string[] = []
  const behave = speaking((wanted, sent) => {
    const answer = answerTo(wanted, sent, steps)
    said.push(answer.calls[0]?.name ?? answer.text)
    return answer
  })
  return { behave, said }
}

function answerTo({ messages, tools }: Wanted, sent: string, steps: readonly Step[]): Said {
  if (COMPACTION.test(JSON.stringify(messages.at(-1)))) return saying(SUMMARY, counted)
  if (!sent.includes(TASK) || tools.length === 0) return saying('Greeting', counted)
  const taken =
    sent.match(/"role":"tool"|"type":"tool_result"|"type":"function_call_output"|"functionResponse":/g) ?? []
  const step = sent.includes(SUMMARY) ? undefined : steps[taken.length]
  if (!step) return saying(DONE, counted)
  // Mistral wants nine letters and digits.
  const call = { id: `call0000${taken.length}`, name: step.tool, input: step.input }
  return { text: '', calls: [call], end: 'calls', counted }
}

function dialectAt(path: string): Dialect {
  if (path.endsWith('/responses')) return responses
  if (path.endsWith('/messages')) return messages
  if (path.includes('enerateContent')) return generateContent
  return path.includes('/mistral/') ? mistral : completions
}
