import { argumentsIn, INVALID_ARGUMENTS, parsed } from '../../../routers/ports/ai/tool-calls.ts'
import type { OutboundRequest } from '../../net/http-client.ts'
import { withoutMarks, withoutMarksIn } from './meta-blocks.ts'

/** Kinds of providers that take the arguments of a call as text. The others take an object. */
const takeText: ReadonlySet<string> = new Set(['openai', 'openai-compatible', 'open_web_ui', 'mistral'])

/** Marks a text that the AI SDK would write as JSON, or refuse, until the request is sent. */
const AS_IT_CAME = '__svc_arguments'

/** The arguments of a call as the SDK of a provider is given them, to send them as the model wrote them; without marks of blocks. */
export function argumentsFor(adapter: string, text: string): unknown {
  const value = argumentsIn(text)
  return takeText.has(adapter) ? textOf(text, value) : objectOf(text, value)
}

function objectOf(text: string, value: unknown): unknown {
  if (isObject(value)) return withoutMarksIn(value)
  return value === null ? {} : { [INVALID_ARGUMENTS]: withoutMarks(text) }
}

function textOf(text: string, value: unknown): unknown {
  if (value === undefined) return { [AS_IT_CAME]: withoutMarks(text) }
  const written = mayHaveMark.test(text) ? JSON.stringify(withoutMarksIn(value)) : text.trim() || '{}'
  // The SDK takes no member of the name of a prototype for JSON.
  return /__proto__|constructor/.test(written) ? { [AS_IT_CAME]: written } : written
}

/** JSON may write the letters of a mark as numbers. */
const mayHaveMark = /SVC_META_|\\u/i

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The request with arguments of calls as the model wrote them. */
export function withArguments(request: OutboundRequest): OutboundRequest {
  const { body } = request
  if (typeof body !== 'string' || !body.includes(AS_IT_CAME)) return request
  const restored = JSON.parse(body, (name, value) => (name === 'arguments' ? asItCame(value) : value))
  return { ...request, body: JSON.stringify(restored) }
}

function asItCame(value: unknown): unknown {
  const marked = typeof value === 'string' && value.startsWith(`{"${AS_IT_CAME}":`) ? parsed(value) : undefined
  return isObject(marked) ? Object.values(marked)[0] : value
}
