import { completions, mistral } from './dialects/completions.ts'
import {
  type Body,
  buildTextAnswer,
  type Dialect,
  type DialectAnswer,
  type DialectRequest,
  type TokenCounts,
} from './dialects/dialect.ts'
import { generateContent } from './dialects/generate-content.ts'
import { messages } from './dialects/messages.ts'
import { responses } from './dialects/responses.ts'
import { type Behaviour, beginStream, sendJson } from './provider.ts'

/** A call of one of the tools of an agent. */
export interface Step {
  tool: string
  input: object
}

/** The answer of a model that has taken all steps. */
export const DONE = 'All steps are done.'

/** The model's summary of a conversation. */
export const SUMMARY = 'A summary of what was done so far.'

/** Phrases by which the model recognizes the request for the task and for a summary. */
export const TASK = 'Carry out the greeting task'
const COMPACTION = /summary of (?:the|our|this) conversation|CHECKPOINT COMPACTION/i

const TOKENS = { input: 1000, output: 50, cached: 0, cacheWrite: 0, reasoning: 0 }

/** Behaves like a model of any kind of provider, chosen by the path of the request. */
export const answerInDialect =
  (answerOf: (request: DialectRequest, rawBody: string) => DialectAnswer): Behaviour =>
  ({ path, body, sent: rawBody }, response) => {
    const dialect = selectDialect(path.replace(/\?.*/, ''))
    const answer = answerOf(dialect.read(body), rawBody)
    if (!body.stream && !path.includes(':stream')) return sendJson(response, dialect.whole(answer))
    beginStream(response)
    response.end(dialect.events(answer, body).join(''))
  }

/** The steps of a task, perhaps by the names of the tools that the model is offered. */
export type Steps = readonly Step[] | ((offered: readonly string[]) => readonly Step[])

/**
 * A model that takes the steps of a task one by one, when it gets the results of the earlier ones. It knows the request by
 * the text of the task.
 */
export function createTaskModel(steps: Steps, countTokens = (_: Body): TokenCounts => TOKENS, task = TASK) {
  /** The tool or text of each answer, in order. */
  const answers: string[] = []
  const behave = answerInDialect((request, rawBody) => {
    const answer = { ...answerRequest(request, rawBody, steps, task), tokens: countTokens(JSON.parse(rawBody)) }
    answers.push(answer.calls[0]?.name ?? answer.text)
    return answer
  })
  return { behave, answers }
}

function answerRequest(
  { messages, tools }: DialectRequest,
  rawBody: string,
  steps: Steps,
  task: string,
): DialectAnswer {
  if (COMPACTION.test(JSON.stringify(messages.at(-1)))) return buildTextAnswer(SUMMARY, TOKENS)
  if (!rawBody.includes(task) || tools.length === 0) return buildTextAnswer('Greeting', TOKENS)
  const results =
    rawBody.match(/"role":"tool"|"type":"tool_result"|"type":"function_call_output"|"functionResponse":/g) ?? []
  const offered = tools.map(({ name }) => name)
  const taken = typeof steps === 'function' ? steps(offered) : steps
  const step = rawBody.includes(SUMMARY) ? undefined : taken[results.length]
  if (!step) return buildTextAnswer(DONE, TOKENS)
  if (!offered.includes(step.tool)) return buildTextAnswer(`There is no tool ${step.tool}.`, TOKENS)
  // Mistral wants nine letters and digits.
  const call = { id: `call0000${results.length}`, name: step.tool, input: step.input }
  return { text: '', calls: [call], end: 'calls', tokens: TOKENS }
}

function selectDialect(path: string): Dialect {
  if (path.endsWith('/responses')) return responses
  if (path.endsWith('/messages')) return messages
  if (path.includes('enerateContent')) return generateContent
  return path.includes('/mistral/') ? mistral : completions
}
