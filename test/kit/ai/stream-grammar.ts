import fc from 'fast-check'
import { completions, mistral } from './dialects/completions.ts'
import type { Call, Dialect, DialectAnswer, End } from './dialects/dialect.ts'
import { generateContent } from './dialects/generate-content.ts'
import { messages } from './dialects/messages.ts'
import { responses } from './dialects/responses.ts'

/** The content of an answer, independent of its encoding and pieces. */
export interface ReadAnswer {
  text: string
  thoughts: string
  calls: [name: string, input: string][]
  end: 'stop' | 'length' | 'tool-calls' | 'content-filter' | 'error'
  tokens: [input: number, output: number]
}

/** The bytes of a stream in pieces, as they come over a network. */
export interface GeneratedStream {
  pieces: Uint8Array[]
  expected: ReadAnswer
}

interface Frame {
  choices?: { delta?: Delta | null; finish_reason?: string | null }[]
  usage?: { prompt_tokens: number | string; completion_tokens: number | string }
}

interface Delta {
  content?: string | ContentPart[]
  reasoning_content?: string
  tool_calls?: Piece[]
}

interface ContentPart {
  type: string
  text?: string
  thinking?: { type: string; text: string }[]
}

interface Piece {
  index?: number
  id?: string
  function: { name?: string; arguments?: string }
}

const ends: Record<string, ReadAnswer['end']> = {
  stop: 'stop',
  length: 'length',
  model_length: 'length',
  MAX_TOKENS: 'length',
  content_filter: 'content-filter',
  tool_calls: 'tool-calls',
  error: 'error',
  abort: 'error',
}

/** The reference reader: it has all frames at once, and knows the index of each call. */
function readReference(frames: readonly Frame[], callAt: (piece: Piece) => number): ReadAnswer {
  const choices = frames.flatMap(({ choices }) => choices?.slice(0, 1) ?? [])
  const deltas = choices.flatMap(({ delta }) => delta ?? [])
  const parts = deltas.flatMap(({ content = [] }): ContentPart[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  )
  const thoughts = deltas.flatMap(({ reasoning_content: thought, content }) => [
    thought ?? '',
    ...(Array.isArray(content) ? content.flatMap(({ thinking = [] }) => thinking.map(({ text }) => text)) : []),
  ])
  const byCall = Map.groupBy(
    deltas.flatMap(({ tool_calls: pieces = [] }) => pieces),
    callAt,
  )
  const { usage } = frames.findLast(({ usage }) => usage) ?? {}
  const reason = choices.find(({ finish_reason }) => finish_reason)?.finish_reason ?? ''
  return {
    text: parts.map(({ text = '' }) => text).join(''),
    thoughts: thoughts.join(''),
    calls: [...byCall.values()].map((pieces): [string, string] => [
      pieces.find((piece) => piece.function.name)?.function.name ?? '',
      pieces.map((piece) => piece.function.arguments ?? '').join(''),
    ]),
    end: ends[reason] ?? 'error',
    tokens: [Number(usage?.prompt_tokens), Number(usage?.completion_tokens)],
  }
}

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
const input = fc.dictionary(fc.string({ maxLength: 5 }), fc.oneof(words, fc.integer(), fc.constant(null)), {
  maxKeys: 3,
  noNullPrototype: true,
})
const call = fc.record({ id: fc.uuid(), name: fc.constantFrom('find', 'now'), input: input as fc.Arbitrary<unknown> })
/** The maximum of tokens for a short question and its answer. */
const count = fc.integer({ min: 1, max: 200 })

/** The ways in which servers label the pieces of a call. */
const labels: ((index: number, id: string, isFirst: boolean) => Partial<Piece>)[] = [
  (index, id, isFirst) => ({ index, ...(isFirst && { id }) }),
  (index, id) => ({ index, id }),
  (_, id) => ({ id }),
  (_, id, isFirst) => (isFirst ? { id } : {}),
  (index) => ({ index }),
]

const splitAt = (text: string, cuts: readonly number[]): string[] => {
  const offsets = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((one, other) => one - other)
  return [...offsets, text.length].map((end, at) => text.slice(offsets[at - 1] ?? 0, end))
}

const anyDelta = fc.oneof(
  words.map((content): Delta => ({ content })),
  words.map((text): Delta => ({ content: [{ type: 'text', text }] })),
  words.map((reasoning_content): Delta => ({ reasoning_content })),
  words.map((text): Delta => ({ content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] })),
)

const splitCall = ({ id, name, input }: Call, index: number, style: number, cuts: readonly number[]): Piece[] =>
  splitAt(JSON.stringify(input), cuts).map((text, at) => ({
    ...labels[style]?.(index, id, at === 0),
    function: { ...(at === 0 && { name }), arguments: text },
  }))

/** Blocks without content that servers send between frames. */
const noise = fc.constantFrom(
  ...[': still here', 'event: ping\ndata: hello', 'data: null', 'data:', 'event: ping\ndata: ping', ': a\n: b', ''],
)

const writeStream = (frames: fc.Arbitrary<{ texts: string[]; expected: ReadAnswer }>): fc.Arbitrary<GeneratedStream> =>
  fc
    .record({
      answer: frames,
      noises: fc.array(fc.tuple(fc.nat(40), noise), { maxLength: 4 }),
      line: fc.constantFrom('\n', '\r\n'),
      isOpen: fc.boolean(),
      cuts: fc.array(fc.nat(5000), { maxLength: 12 }),
    })
    .map(({ answer: { texts, expected }, noises, line, isOpen, cuts }) => {
      const blocks = [...texts]
      for (const [at, block] of noises) blocks.splice(at % blocks.length, 0, block)
      const text = blocks.join('\n\n').replaceAll('\n', line) + (isOpen ? '' : line + line)
      const bytes = new TextEncoder().encode(text)
      const offsets = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((one, other) => one - other)
      return {
        pieces: [...offsets, bytes.length].map((end, at) => bytes.subarray(offsets[at - 1] ?? 0, end)),
        expected,
      }
    })

const formatData = (frame: unknown) => `data: ${JSON.stringify(frame)}`

/** Streams of chat completions as servers of all kinds write them. */
export const completionStreams: fc.Arbitrary<GeneratedStream> = writeStream(
  fc
    .record({
      deltas: fc.array(anyDelta, { minLength: 1, maxLength: 5 }),
      calls: fc.array(call, { maxLength: 3 }),
      style: fc.nat(labels.length - 1),
      cuts: fc.array(fc.nat(50), { maxLength: 3 }),
      reasons: fc.array(fc.constantFrom(...Object.keys(ends)), { minLength: 1, maxLength: 2 }),
      counts: fc.tuple(count, count),
      isText: fc.boolean(),
      isApart: fc.boolean(),
      done: fc.constantFrom('data: [DONE]', 'data:[DONE] ', ': nothing', 'data: [DONE]\n\ndata: {"choices": 7}'),
    })
    .map(({ deltas: answerDeltas, calls, style, cuts, reasons, counts: [input, output], isText, isApart, done }) => {
      const tokens = { prompt_tokens: isText ? `${input}` : input, completion_tokens: isText ? `${output}` : output }
      const pieces = calls.map((call, at) => splitCall(call, at, style, cuts))
      const owner = new Map(pieces.flatMap((list, at) => list.map((piece): [Piece, number] => [piece, at])))
      const frames: Frame[] = [
        ...answerDeltas.map((delta) => ({ choices: [{ delta, finish_reason: null }] })),
        ...pieces.flat().map((piece) => ({ choices: [{ delta: { tool_calls: [piece] } }] })),
        ...reasons.map((finish_reason, at) => ({
          choices: [{ delta: at === 0 ? {} : null, finish_reason }],
          ...(!isApart && { usage: tokens }),
        })),
        ...(isApart ? [{ choices: [], usage: tokens }] : []),
      ]
      return {
        texts: [...frames.map(formatData), done],
        expected: readReference(frames, (piece) => owner.get(piece) ?? 0),
      }
    }),
)

const dialects: Record<string, Dialect> = {
  'openai-compatible': completions,
  mistral,
  openai: responses,
  anthropic: messages,
  google: generateContent,
}

const dialectEnds: Record<End, ReadAnswer['end']> = {
  stop: 'stop',
  length: 'length',
  calls: 'tool-calls',
  refusal: 'content-filter',
}

/** Streams such as the provider of each adapter writes them. */
export const generateDialectStreams = (adapter: string): fc.Arbitrary<GeneratedStream> =>
  writeStream(
    fc
      .record({
        text: words.filter((text) => text.trim() !== ''),
        calls: fc.array(call, { maxLength: 2 }),
        isCut: fc.boolean(),
        counts: fc.tuple(count, count),
      })
      .map(({ text, calls, isCut, counts: [input, output] }) => {
        const end: End = isCut ? 'length' : calls.length > 0 ? 'calls' : 'stop'
        const tokenCounts = { input, output, cached: 0, cacheWrite: 0, reasoning: 0 }
        const answer: DialectAnswer = { text, calls, end, tokens: tokenCounts }
        const events = dialects[adapter]?.events(answer, { stream_options: { include_usage: true } }).join('') ?? ''
        return {
          texts: events.split('\n\n').filter(Boolean),
          expected: {
            text,
            thoughts: '',
            end: dialectEnds[end],
            tokens: [input, output] as [number, number],
            calls: calls.map(({ name, input }): [string, string] => [name, JSON.stringify(input)]),
          },
        }
      }),
  )
