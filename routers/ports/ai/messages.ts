import type { StoredBytes } from './prompt-files.ts'

/** What people, models and tools say to each other, in the service's own terms. */
export type Message =
  | { role: 'system'; content: readonly TextPart[] }
  | { role: 'user'; content: readonly UserPart[] }
  | { role: 'assistant'; content: readonly AssistantPart[] }
  | { role: 'tool'; content: readonly ToolResult[] }

export interface TextPart {
  type: 'text'
  text: string
}

/** An image or a document, always as bytes: no provider is told to fetch what a person points to. */
export interface FilePart {
  type: 'file'
  /** Its media type, such as `image/png`. */
  mime: string
  /** Base64. */
  data: string
  name?: string | undefined
}

export type InputPart = TextPart | FilePart

/** A file that the model is not given, and why in a few words: "is an image, which this model does not take". */
export interface SkippedPart {
  type: 'skipped'
  name: string
  reason: string
}

/** A stored image or document, which goes to the model as a file does, and is read while it is sent. */
export interface StoredFilePart {
  type: 'stored-file'
  mime: string
  name: string
  content: StoredBytes
}

export type UserPart = InputPart | StoredFilePart | SkippedPart

/** What a model thought before it answered. */
export interface Reasoning {
  type: 'reasoning'
  text: string
  /** The provider's proof of it, which it wants back with the results of tools. */
  signature?: string | undefined
}

/** A model wants a function to be run. */
export interface ToolCall {
  type: 'tool-call'
  id: string
  name: string
  /** The arguments as JSON, as the model wrote them. */
  input: string
  signature?: string | undefined
}

export type AssistantPart = TextPart | Reasoning | ToolCall

/** What came of a call of a tool. */
export interface ToolResult {
  type: 'tool-result'
  /** The call it answers. */
  id: string
  name: string
  content: readonly InputPart[]
  isError?: boolean | undefined
}

/** A piece of the text of an answer, which begins at one character and ends before another. */
export interface TextRange {
  start: number
  end: number
}

/** A web page that an answer refers to. */
export interface Source {
  type: 'source'
  url: string
  title?: string | undefined
  /** Where all of the text of the answer refers to it; not every provider says. */
  places?: readonly TextRange[] | undefined
}
