import type { StoredBytes } from './prompt-files.ts'

/** A message in the service's own terms. */
export type Message =
  | { role: 'system'; content: readonly TextPart[] }
  | { role: 'user'; content: readonly UserPart[] }
  | { role: 'assistant'; content: readonly AssistantPart[] }
  | { role: 'tool'; content: readonly ToolResult[] }

/** Marks the end of what the provider is to cache: this part and all before it. It changes the price of a call alone. */
export interface CacheMark {
  /** The default is the provider's. */
  ttl?: '5m' | '1h' | undefined
}

export interface TextPart {
  type: 'text'
  text: string
  cache?: CacheMark | undefined
}

/** An image or a document as bytes: providers never fetch addresses that people name. */
export interface FilePart {
  type: 'file'
  /** Its media type, such as `image/png`. */
  mime: string
  /** Base64. */
  data: string
  name?: string | undefined
  cache?: CacheMark | undefined
}

export type InputPart = TextPart | FilePart

/** A file that the model does not get, with a short reason such as "is an image, which this model does not take". */
export interface SkippedPart {
  type: 'skipped'
  name: string
  reason: string
}

/** A stored image or document, which is streamed to the model. */
export interface StoredFilePart {
  type: 'stored-file'
  mime: string
  name: string
  content: StoredBytes
}

export type UserPart = InputPart | StoredFilePart | SkippedPart

/** The reasoning of a model before its answer. */
export interface Reasoning {
  type: 'reasoning'
  text: string
  /** The provider's signature, which it requires with tool results. */
  signature?: string | undefined
}

/** A request of the model to run a function. */
export interface ToolCall {
  type: 'tool-call'
  id: string
  name: string
  /** The arguments as JSON text, as the model wrote them. */
  input: string
  signature?: string | undefined
  cache?: CacheMark | undefined
}

export type AssistantPart = TextPart | Reasoning | ToolCall

/** The result of a tool call. */
export interface ToolResult {
  type: 'tool-result'
  /** The id of the call. */
  id: string
  name: string
  content: readonly InputPart[]
  isError?: boolean | undefined
  cache?: CacheMark | undefined
}

/** A range of the answer's text; `end` is exclusive. */
export interface TextRange {
  start: number
  end: number
}

/** A web page that an answer cites, or a passage of the knowledge of its assistant. */
export interface Source {
  type: 'source'
  url: string
  title?: string | undefined
  /** The ranges of the answer that cite it, if the provider reports them. */
  places?: readonly TextRange[] | undefined
  /** Present for a passage, whose address opens it for those who may use the assistant. */
  passage?: CitedPassage | undefined
}

/** A passage of a file that an answer cites. */
export interface CitedPassage {
  /** The number by which the text cites it, which is unique within the answer. */
  number: number
  /** The id of the version of the file. */
  file: number
  path: string
  /** The page or slide; null if the file has none. */
  page: number | null
  /** The headings above it, the highest first. */
  headings: readonly string[]
  /** Offsets into the text of the file, in UTF-16 units; the end is exclusive. */
  from: number
  to: number
  text: string
}
