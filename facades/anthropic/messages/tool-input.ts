import { argumentsIn, INVALID_ARGUMENTS } from '../../../routers/ports/ai/tool-calls.ts'

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the arguments of a call as the object that clients expect; a text that is none is a member of it. */
export function toInput(text: string): object {
  const value = argumentsIn(text)
  if (isObject(value)) return value
  return value === null ? {} : { [INVALID_ARGUMENTS]: text }
}

/** Writes the same object for a stream, in the words of the model where it is one. */
export const toInputJson = (text: string): string =>
  isObject(argumentsIn(text)) ? text : JSON.stringify(toInput(text))

/** Returns the arguments as the model wrote them, of a call that a client sends back. */
export function fromInput(input: Readonly<Record<string, unknown>>): string {
  const { [INVALID_ARGUMENTS]: text, ...others } = input
  return typeof text === 'string' && Object.keys(others).length === 0 ? text : JSON.stringify(input)
}
