import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { completionAdapters, startCompletionAdapters } from '../kit/ai/completion-adapters.ts'
import { buildExpectedAnswer, type ExpectedAnswer } from '../kit/ai/completion-cases.ts'
import { shareResource } from '../kit/share-resource.ts'
import { untilRead } from '../kit/until-read.ts'

const app = shareResource(startCompletionAdapters)

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
const tokens: ExpectedAnswer['tokens'] = [11, 7]
const says = (delta: unknown, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] })
const ends = (finish_reason: unknown, more: object = { usage }) => ({
  choices: [{ index: 0, delta: {}, finish_reason }],
  ...more,
})
const calls = (...tool_calls: object[]) => says({ tool_calls })
const part = (index: number | undefined, id: string | undefined, name: string | undefined, text: unknown) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id }),
  function: { ...(name !== undefined && { name }), ...(text !== undefined && { arguments: text }) },
})
const [a, b] = ['{"q":"a"}', '{"q":"b"}']
const both: ExpectedAnswer['calls'] = [
  ['find', a],
  ['find', b],
]
const one: ExpectedAnswer['calls'] = [['find', a]]

type Row = [name: string, frames: readonly unknown[], right: ExpectedAnswer]

const assembled: [name: string, pieces: readonly object[], right: ExpectedAnswer['calls']][] = [
  [
    'pieces without index and id',
    [calls(part(0, 'a', 'find', '{"q":')), calls(part(undefined, undefined, undefined, '"a"}'))],
    one,
  ],
  ['pieces whose id changes', [calls(part(0, 'a', 'find', '{"q":')), calls(part(0, 'b', undefined, '"a"}'))], one],
  ['pieces that repeat the name', [calls(part(0, 'a', 'find', '{"q":')), calls(part(0, 'a', 'find', '"a"}'))], one],
  ['pieces that repeat an empty name', [calls(part(0, 'a', 'find', '{"q":')), calls(part(0, '', '', '"a"}'))], one],
  ['an id that comes late', [calls(part(0, undefined, 'find', '{"q":')), calls(part(0, 'a', undefined, '"a"}'))], one],
  ['a name that comes late', [calls(part(0, 'a', undefined, '')), calls(part(0, undefined, 'find', a))], one],
  ['a call that never gets a name', [calls(part(0, 'a', 'find', a)), calls(part(1, undefined, '', ''))], one],
  [
    'arguments that are null at first',
    [calls(part(0, 'a', 'find', null)), calls(part(0, undefined, undefined, a))],
    one,
  ],
  [
    'arguments that are an empty object at first',
    [calls(part(0, 'a', 'find', {})), calls(part(0, undefined, undefined, a))],
    one,
  ],
  [
    'a call of the older kind',
    [says({ function_call: { name: 'find', arguments: '{"q":' } }), says({ function_call: { arguments: '"a"}' } })],
    one,
  ],
  [
    'two calls with one index and no ids',
    [calls(part(0, undefined, 'find', a)), calls(part(0, undefined, 'find', b))],
    both,
  ],
  ['two calls with one id', [calls(part(0, 'a', 'find', a)), calls(part(1, 'a', 'find', b))], both],
  ['two calls with one id and one index', [calls(part(0, 'a', 'find', a), part(0, 'a', 'find', b))], both],
  [
    'two calls without ids',
    [calls(part(undefined, undefined, 'find', a)), calls(part(undefined, undefined, 'find', b))],
    both,
  ],
  [
    'two calls whose pieces alternate',
    [
      calls(part(undefined, 'a', 'find', '{"q":'), part(undefined, 'b', 'find', '{"q":')),
      calls(part(undefined, 'a', undefined, '"a"}'), part(undefined, 'b', undefined, '"b"}')),
    ],
    both,
  ],
  ['text that is no JSON', [calls(part(0, 'a', 'find', '{q: a'))], [['find', '{q: a']]],
]

const read: Row[] = [
  [
    'the first of two reasons',
    [says({ content: 'x' }), ends('stop'), ends('length')],
    { text: 'x', end: 'stop', tokens },
  ],
  ['the reason MAX_TOKENS', [says({ content: 'x' }), ends('MAX_TOKENS')], { text: 'x', end: 'length', tokens }],
  ...['abort', 'insufficient_system_resource', 'whatever', 'error'].map(
    (reason): Row => [`the reason ${reason}`, [says({ content: 'x' }), ends(reason)], { text: 'x', end: 'error' }],
  ),
  [
    'a call that the provider refused to say on',
    [calls(part(0, 'a', 'find', '{"q')), ends('content_filter')],
    { calls: [['find', '{"q']], end: 'content_filter', tokens },
  ],
  [
    'members of other types',
    [
      { id: 7, created: 'now', model: null, object: [], ...says({ role: 1, content: 'x', refusal: false }) },
      { choices: null },
      says(null),
      says('y'),
      ends('stop', { usage: { prompt_tokens: '11', completion_tokens: '7', total_tokens: '18' } }),
    ],
    { text: 'x', end: 'stop', tokens },
  ],
  [
    'a thought and a text in one frame',
    [says({ content: 'x', reasoning: 'hm' }), ends('stop')],
    { text: 'x', thoughts: 'hm', end: 'stop', tokens },
  ],
  [
    'thoughts between tags in pieces',
    [...[...'<think>a<b</think> x'].map((content) => says({ content })), ends('stop')],
    { text: 'x', thoughts: 'a<b', end: 'stop', tokens },
  ],
  [
    'a text that only looks like a tag',
    [says({ content: '<thin' }), ends('stop')],
    { text: '<thin', end: 'stop', tokens },
  ],
  [
    'usage in the choice',
    [says({ content: 'x' }), { choices: [{ delta: {}, finish_reason: 'stop', usage }] }],
    { text: 'x', end: 'stop', tokens },
  ],
  [
    'an answer that is a message',
    [{ choices: [{ message: { content: 'x' }, finish_reason: null }], usage }],
    { text: 'x', end: 'stop', tokens },
  ],
  [
    'calls of a message that have one id',
    [
      {
        choices: [{ message: { tool_calls: [part(undefined, 'a', 'now', ''), part(undefined, 'a', 'now', null)] } }],
        usage,
      },
    ],
    {
      calls: [
        ['now', '{}'],
        ['now', '{}'],
      ],
      end: 'tool_calls',
      tokens,
    },
  ],
]

const rows: Row[] = [
  ...assembled.map(
    ([name, pieces, right]): Row => [
      name,
      [...pieces, ends('stop')],
      { ...(right && { calls: right }), end: 'tool_calls', tokens },
    ],
  ),
  ...read,
]

const streamOf = (frames: readonly unknown[]) => frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')

test.for(rows)('%s: read the same by every adapter, whole and streamed', async ([, frames, right]) => {
  app.answerWith((response) => response.end(streamOf(frames)))

  for (const adapter of completionAdapters)
    for (const stream of [true, false]) {
      const { ids, status: _, ...answer } = await app.chat(adapter, stream)
      expect({ adapter, stream, ...answer }).toEqual({ adapter, stream, ...buildExpectedAnswer(right, stream) })
      expect(new Set(ids.filter(Boolean)).size).toBe(right.calls?.length ?? 0)
    }
})

test('thoughts between tags are separated for a model that is known for them', async () => {
  const content = '<think>hm</think>x'
  app.answerWith((response) => response.end(streamOf([says({ content }), ends('stop')])))

  for (const stream of [true, false]) {
    expect(await app.chat('deepseek-r1', stream)).toMatchObject({ text: 'x', thoughts: 'hm' })
    expect(await app.chat('plain', stream)).toMatchObject({ text: content })
  }
})

const text = streamOf([says({ content: 'x' }), ends('stop')])

test.for<[string, (response: ServerResponse) => unknown]>([
  ['says no more', (response) => response.write(text)],
  [
    'is reset',
    (response) => {
      response.write(text)
      return untilRead(response).then(() => response.destroy())
    },
  ],
  ['goes on with words', (response) => response.write(`${text}data: [DONE] \n\ndata: more\n\n`)],
  ['puts two objects in one event', (response) => response.end(text.replaceAll('\n\n', '\n'))],
])('an answer is whole after its end and its usage, where its connection %s', async ([, write]) => {
  app.answerWith(write)

  for (const adapter of completionAdapters)
    expect(await app.chat(adapter, true)).toMatchObject({ status: 200, text: 'x', end: 'stop', tokens })
})

const priceOf = (input: number, output: number) => input + 2 * output

test.for<[string, object, object]>([
  [
    'the hits of a cache',
    { ...usage, prompt_cache_hit_tokens: 9 },
    { input: 11, output: 7, cached: 9, estimated: false },
  ],
  [
    'thoughts in the total',
    { ...usage, total_tokens: 118 },
    { input: 11, output: 107, cached: 0, estimated: false, cost: priceOf(11, 107) },
  ],
  [
    'nothing',
    { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    { input: expect.toSatisfy(Boolean), output: 1, cached: 0, estimated: true },
  ],
  [
    'text in place of numbers',
    { prompt_tokens: '11', completion_tokens: '7' },
    { input: 11, output: 7, estimated: false, cost: priceOf(11, 7) },
  ],
])('a bill of %s is counted', async ([, told, bill]) => {
  app.answerWith((response) => response.end(streamOf([says({ content: 'x' }), ends('stop', { usage: told })])))

  for (const adapter of completionAdapters)
    for (const stream of [true, false]) {
      await app.chat(adapter, stream)
      expect(await app.bill()).toMatchObject(bill)
    }
})

test('a total alone is shared between question and answer, and marked as estimated', async () => {
  app.answerWith((response) =>
    response.end(streamOf([says({ content: 'x' }), ends('stop', { usage: { total_tokens: 180 } })])),
  )

  for (const adapter of completionAdapters)
    for (const stream of [true, false]) {
      await app.chat(adapter, stream)
      const { input, output, estimated } = (await app.bill()) as { input: number; output: number; estimated: boolean }
      expect({ total: input + output, estimated }).toEqual({ total: 180, estimated: true })
    }
})
