import { createHash } from 'node:crypto'
import { completions, mistral } from './dialects/completions.ts'
import { type Call, type Dialect, type Said, saying, tokensOf, type Wanted } from './dialects/dialect.ts'
import { generateContent } from './dialects/generate-content.ts'
import { messages } from './dialects/messages.ts'
import { responses } from './dialects/responses.ts'
import { type Behaviour, beginStream, json } from './provider.ts'
import { SchemaValues } from './schema-value.ts'

const vocabulary = [
  'amber',
  'birch',
  'cloud',
  'dune',
  'ember',
  'fern',
  'grove',
  'heath',
  'islet',
  'jade',
  'kelp',
  'lime',
]
const SPOKEN_WORDS = 12

/** A model that does what it is asked, in all dialects, and the answers that it gave. */
export function scriptedModel() {
  const said: Said[] = []
  const behave: Behaviour = ({ path, body }, response) => {
    const dialect = dialectAt(path)
    const answer = answerTo(dialect.read(body))
    said.push(answer)
    if (!body.stream && !path.includes(':stream')) return json(response, dialect.whole(answer))
    beginStream(response)
    response.end(dialect.events(answer, body).join(''))
  }
  return { said, behave }
}

/** By an address that begins with the name of its provider. */
function dialectAt(path: string): Dialect {
  if (path.endsWith('/responses')) return responses
  if (path.endsWith('/messages')) return messages
  if (path.includes('enerateContent')) return generateContent
  return path.includes('/mistral/') ? mistral : completions
}

function answerTo(wanted: Wanted): Said {
  const read = tokensOf(JSON.stringify([wanted.messages, wanted.around], null, 1)).length
  const words = wordsOf(wanted.seed ?? textsIn(wanted.messages))
  const { text, ...answer } = within(wanted, callsOf(wanted, words), () => textOf(wanted, words))
  const output = tokensOf(text + written(answer.calls)).length
  return { ...saying(text, { input: read, output, cached: 0, cacheWrite: 0, reasoning: 0 }), ...answer }
}

/** What was said, by whichever dialect. */
const textsIn = (messages: Wanted['messages']): string[] =>
  [...JSON.stringify(messages).matchAll(/"(?:text|content)":"((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text)

/** Words that depend on the seed alone. */
function* wordsOf(seed: unknown): Generator<string, never> {
  for (let at = 0; ; at++) {
    const [byte = 0] = createHash('sha256')
      .update(JSON.stringify([seed, at]))
      .digest()
    yield vocabulary[byte % vocabulary.length] as string
  }
}

const written = (calls: readonly Call[]) => calls.map(({ name, input }) => `${name} ${JSON.stringify(input)} `).join('')

/** Calls a tool that it must call, or that is named in the question: of several that it must choose from it takes all, or the last. */
function callsOf({ messages, tools, mustCall, isOneByOne }: Wanted, words: Iterator<string>): Call[] {
  const question = JSON.stringify(messages.at(-1))
  const isAnswered = /tool_result|functionResponse|function_call_output|"role":"tool"/.test(question)
  const fit = mustCall ? tools : tools.filter(({ name }) => !isAnswered && question.includes(name))
  return (isOneByOne ? fit.slice(-1) : fit).map(({ name, schema }, at) => ({
    // Mistral wants nine letters and digits.
    id: `call${String(messages.length * 100 + at).padStart(5, '0')}`,
    ...{ name, input: new SchemaValues(schema, words).value() },
  }))
}

function textOf({ json }: Wanted, words: Iterator<string>): string {
  const spoken = Array.from({ length: SPOKEN_WORDS }, () => words.next().value).join(' ')
  if (json === false) return spoken
  return JSON.stringify(json === true ? { spoken } : new SchemaValues(json, words).value(), null, 1)
}

/** Ends before the first text that it is to stop at, and at the longest answer, in which a call is whole or is not there. */
function within(
  { stop, maxTokens }: Wanted,
  calls: readonly Call[],
  speak: () => string,
): Pick<Said, 'text' | 'calls' | 'end' | 'stop'> {
  if (calls.length > 0 && tokensOf(written(calls)).length <= maxTokens) return { text: '', calls, end: 'calls' }
  if (calls.length > 0) return { text: '', calls: [], end: 'length' }
  const text = speak()
  const [first] = stop.filter((one) => text.includes(one)).sort((one, other) => text.indexOf(one) - text.indexOf(other))
  const tokens = tokensOf(first === undefined ? text : text.slice(0, text.indexOf(first)))
  const isCut = tokens.length > maxTokens
  return {
    ...{ text: tokens.slice(0, maxTokens).join(''), calls: [], end: isCut ? 'length' : 'stop' },
    ...(!isCut && { stop: first }),
  }
}
