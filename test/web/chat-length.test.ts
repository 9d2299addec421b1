import { describe, expect, test } from 'vitest'
import { findPathTo } from '../../facades/web/app/chat/branches.ts'
import { isMeasurable, measureContext } from '../../facades/web/app/chat/context-size.ts'
import { readSvcExport } from '../../facades/web/app/chat/import/svc-export.ts'
import type { OpenedMessage } from '../../facades/web/app/chat/message-content.ts'
import { findOverflow } from '../../facades/web/app/chat/overflow.ts'
import { toRequestMessages } from '../../facades/web/app/chat/request-messages.ts'
import {
  findFirstWithFiles,
  hasWholeHistory,
  hasWholeSummary,
  selectSent,
  splitPath,
} from '../../facades/web/app/chat/sent-history.ts'
import { planSummary, writeTranscript } from '../../facades/web/app/chat/summary-plan.ts'
import { readSummary } from '../../facades/web/app/chat/summary-text.ts'
import { estimateTokens, takeBeginning } from '../../facades/web/app/chat/token-estimate.ts'
import { type Answer, emptyAnswer, parseAnswer } from '../../facades/web/app/shared/conversation/answer.ts'

/** 100 tokens by the estimate. */
const TEXT = 'word '.repeat(80)
const FILE = { fileType: 'document', mime: 'text/plain', bytes: 3600, uuid: '', identifier: '' } as const

type Change = Partial<Pick<OpenedMessage, 'parent' | 'isUnreadable'>> & { answer?: Partial<Answer>; files?: string[] }

/** A question for an odd number and an answer for an even one, each of 100 tokens. */
const message = (number: number, { answer, files = [], ...change }: Change = {}): OpenedMessage =>
  ({
    number,
    role: number % 2 === 1 ? 'user' : 'assistant',
    parent: number - 1,
    answer: { ...emptyAnswer, text: TEXT, ...answer },
    attachments: files.map((name) => ({ ...FILE, id: name, name })),
    isUnreadable: false,
    ...change,
  }) as OpenedMessage

const buildPath = (length: number): OpenedMessage[] => Array.from({ length }, (_, index) => message(index + 1))

const summary = (number: number, firstSent: number, change: Change = {}): OpenedMessage => ({
  ...message(number, {
    answer: { text: 'What was said.', summary: { firstSent, replaced: firstSent - 1 } },
    ...change,
  }),
  role: 'assistant',
})

const undoneSummary = (number: number, firstSent: number) =>
  summary(number, firstSent, { answer: { text: 'S', summary: { firstSent, replaced: 1, isUndone: true } } })

const numbers = (messages: readonly OpenedMessage[]) => messages.map(({ number }) => number)
const texts = { summaryRequest: 'Summarise.', writeFileName: (name: string) => `[${name}]` }
const write = (path: readonly OpenedMessage[], maxTokens?: number) =>
  toRequestMessages(selectSent(path), maxTokens, texts).map(({ role, content }) => [role, ...content])

describe('a summary', () => {
  test.for([
    // Messages, the model's input, the first message that stays.
    [8, undefined, 7],
    [20, undefined, 17],
    [20, 4000, 17],
    [20, 1600, 17],
    [20, 900, 19],
    [21, undefined, 17],
    [3, undefined, 3],
    [4, undefined, 3],
    [2, undefined, undefined],
    [1, undefined, undefined],
  ] as const)('of %i messages with an input of %s begins before %s', ([length, maxTokens, firstSent]) => {
    const plan = planSummary(splitPath(buildPath(length)), maxTokens)

    expect(plan?.firstSent).toBe(firstSent)
    if (firstSent !== undefined) expect(plan?.older).toHaveLength(firstSent - 1)
  })

  test('keeps questions that nobody has answered together with the next one', () => {
    const path = [...buildPath(4), message(5), { ...message(6), role: 'user' as const }]

    expect(planSummary(splitPath(path), 100)?.firstSent).toBe(5)
  })

  test('takes up the one before it, and counts what both replace', () => {
    const path = [...buildPath(8), summary(9, 7), ...buildPath(19).slice(9)].map((each) =>
      each.number > 9 ? { ...each, role: each.number % 2 === 0 ? ('user' as const) : ('assistant' as const) } : each,
    )
    const plan = planSummary(splitPath(path), undefined)

    expect(plan?.previous?.number).toBe(9)
    expect(numbers(plan?.older ?? [])).toEqual([7, 8, 10, 11, 12, 13, 14, 15, 16, 17])
    expect(plan).toMatchObject({ firstSent: 18, replaced: 6 + 10 })
  })

  test('is sent first, then what follows the messages that it replaces', () => {
    const sent = write([...buildPath(8), summary(9, 7), { ...message(10), role: 'user' }])

    expect(sent).toEqual([
      ['user', { type: 'text', text: 'Summarise.' }],
      ['assistant', { type: 'text', text: 'What was said.' }],
      ...['user', 'assistant', 'user'].map((role) => [role, { type: 'text', text: TEXT }]),
    ])
  })

  test.for([
    ['is undone', { answer: { text: 'S', summary: { firstSent: 7, replaced: 6, isUndone: true } } }],
    ['is empty', { answer: { text: ' ', summary: { firstSent: 7, replaced: 6 } } }],
    ['names no message before it', { answer: { text: 'S', summary: { firstSent: 9, replaced: 6 } } }],
    ['cannot be opened', { isUnreadable: true }],
  ] as const)('that %s leaves all to be sent', ([, change]) => {
    expect(numbers(selectSent([...buildPath(8), summary(9, 7, change as Change)]).messages)).toEqual(
      numbers(buildPath(8)),
    )
  })

  test('belongs to its branch, and an answer before it does not get it', () => {
    const tree = [
      ...buildPath(8),
      summary(9, 7),
      { ...message(10, { parent: 9 }), role: 'user' as const },
      { ...message(11, { parent: 10 }), role: 'assistant' as const },
      // Another version of question 5, and another question after answer 8.
      { ...message(12, { parent: 4 }), role: 'user' as const },
      { ...message(13, { parent: 8 }), role: 'user' as const },
    ]
    const select = (number: number) => {
      const { summary: used, messages } = selectSent(findPathTo(tree, number))
      return [used?.number, ...numbers(messages)]
    }

    expect(select(11)).toEqual([9, 7, 8, 10, 11])
    expect(select(12)).toEqual([undefined, 1, 2, 3, 4, 12])
    expect(select(13)).toEqual([undefined, 1, 2, 3, 4, 5, 6, 7, 8, 13])
    expect(select(7)).toEqual([undefined, 1, 2, 3, 4, 5, 6, 7])
  })

  test('that stands before the last 200 messages is looked for and sent', () => {
    const path = buildPath(260).slice(-230)

    expect(hasWholeHistory(path)).toBe(true)
    expect(hasWholeHistory(path.slice(-150))).toBe(false)
    expect(hasWholeHistory([...path.slice(-8), summary(261, 255)])).toBe(true)
    expect(hasWholeSummary([...path.slice(-8), summary(261, 240)])).toBe(false)
    const { summary: used, messages } = selectSent(path, summary(9, 7))
    expect(used?.number).toBe(9)
    expect(messages.length).toBeLessThanOrEqual(200)
  })

  test('is read back as it was stored, and nothing else passes for one', () => {
    const stored = { text: 'S', citations: [], summary: { firstSent: 3, replaced: 2, isUndone: true, more: 1 } }
    expect(parseAnswer(JSON.stringify(stored)).summary).toEqual({ firstSent: 3, replaced: 2, isUndone: true })
    for (const value of [true, null, {}, { firstSent: '3', replaced: 2 }, { firstSent: 1.5, replaced: 1 }])
      expect(parseAnswer(JSON.stringify({ ...stored, summary: value })).summary).toBeUndefined()
  })

  test('that is imported names its first message by the new number', () => {
    const line = (number: number, parent: number, role: string, more = {}) => ({
      ...{ number: `${number}.000`, parent, role, text: `Text ${number}`, model: 'mock-1' },
      ...more,
    })
    const { messages } = readSvcExport({
      name: 'Chat',
      shown: '7.000',
      messages: [
        line(1, 0, 'user'),
        line(2, 1, 'assistant'),
        line(4, 2, 'user'),
        line(5, 4, 'assistant'),
        line(6, 5, 'assistant', { summary: { firstSent: 4, replaced: 2 } }),
        line(7, 6, 'user'),
      ],
    })

    expect(messages.map(({ parent }) => parent)).toEqual([0, 1, 2, 3, 4, 5])
    expect(messages[4]?.answer.summary).toEqual({ firstSent: 3, replaced: 2 })
  })
})

describe('what is sent', () => {
  test('only grows at its end, with a summary and without', () => {
    for (const start of [buildPath(8), [...buildPath(8), summary(9, 7)]]) {
      const later = [message(11), { ...message(12), role: 'assistant' as const }, message(13)]
      const before = write([...start, message(11)])
      expect(write([...start, ...later]).slice(0, before.length)).toEqual(before)
    }
  })

  test('has no tool call, and of an answer with tools its texts', () => {
    const tools = [{ id: 'c1', name: 'search', server: '', state: 'running' as const, input: { q: 'x' }, at: 5 }]
    const path = [message(1), message(2, { answer: { text: 'Wait.Found.', tools } }), message(3)]

    expect(write(path)[1]).toEqual(['assistant', { type: 'text', text: 'Wait.\n\nFound.' }])
  })

  test('names old files in place of sending them beyond half of the input', () => {
    const path = buildPath(9).map((each) =>
      message(each.number, each.role === 'user' ? { files: [`f${each.number}`] } : {}),
    )
    const listFiles = (maxTokens?: number) =>
      write(path, maxTokens).flatMap(([, first]) => (typeof first === 'object' && 'id' in first ? first.id : []))

    // Nine messages of 100 tokens, and five files of 1,000.
    expect(listFiles()).toEqual(['f1', 'f3', 'f5', 'f7', 'f9'])
    expect(listFiles(11_800)).toEqual(['f1', 'f3', 'f5', 'f7', 'f9'])
    expect(listFiles(11_700)).toEqual(['f7', 'f9'])
    expect(write(path, 11_700)[0]?.[1]).toEqual({ type: 'text', text: '[f1]' })
    expect(findFirstWithFiles(splitPath(path.slice(0, 8)), 8000, true)).toBe(7)
  })
})

describe('the gauge', () => {
  const usage = { inputTokens: 3000, outputTokens: 400, cachedTokens: 0, reasoningTokens: 0, contextTokens: 3300 }
  const counted = (number: number, change: Partial<Answer> = {}) => message(number, { answer: { usage, ...change } })

  test.for([
    ['what the last answer took', [message(1), counted(2)], 3300],
    ['what was added since, by estimate', [message(1), counted(2), message(3)], 3400],
    ['all by estimate without a count', [message(1), message(2)], 250],
    [
      'an answer of an earlier version by its sums',
      [message(1), counted(2, { usage: { ...usage, contextTokens: undefined } as never })],
      3400,
    ],
    [
      'rounds of tools by estimate',
      [message(1), counted(2, { tools: [{ id: 'a', name: 'a', server: '', state: 'done' }] })],
      250,
    ],
    [
      'an answer with tools by estimate after the last one without',
      [message(1), counted(2), message(3), counted(4, { tools: [{ id: 'a', name: 'a', server: '', state: 'done' }] })],
      3500,
    ],
    ['a new summary by estimate', [message(1), message(2), message(3), counted(4), summary(5, 3)], 253.5],
    ['what was sent with an undone summary by estimate', [message(1), counted(2), undoneSummary(3, 1)], 250],
  ] as const)('counts %s', ([, path, tokens]) => {
    expect(measureContext(path, 4000, 50)).toBe(tokens)
  })
})

test.for([
  ['the whole chat', buildPath(4), true],
  ['its end', buildPath(60).slice(10), false],
  ['an undone summary at its end', [...buildPath(60).slice(10), undoneSummary(61, 1)], false],
  ['a summary at its end', [...buildPath(60).slice(10), summary(61, 50)], true],
  ['a summary of less at its end', [...buildPath(60).slice(10), summary(61, 5)], false],
  ['all that is ever sent', buildPath(250).slice(10), true],
] as const)('the gauge knows whether it misses messages with %s', ([, path, expected]) => {
  expect(isMeasurable(path)).toBe(expected)
})

describe('a summariser', () => {
  const text = (content: string, finish = 'stop') => ({ content: [{ type: 'text', text: content }], finish })

  test.for([
    [text(' A summary. '), 'A summary.'],
    [text('<think>Well.</think>\nA summary.'), 'A summary.'],
    [text('<think>Well, I would say'), undefined],
    [text(''), undefined],
    [text('A summ', 'length'), undefined],
    [text('I will not', 'content-filter'), undefined],
    [{ content: [{ type: 'reasoning', text: 'Well.' }], finish: 'stop' }, undefined],
  ] as const)('with the answer %j gives %j', ([answer, expected]) => {
    expect(readSummary(answer)).toBe(expected)
  })

  test('gets a long chat in parts, with names in place of files', () => {
    const path = [
      message(1, { files: ['notes.pdf'] }),
      ...buildPath(20).slice(1),
      message(21, { answer: { text: TEXT.repeat(9) } }),
    ]
    const parts = writeTranscript(path, 400)

    expect(parts.length).toBeGreaterThan(6)
    expect(Math.max(...parts.map(estimateTokens))).toBeLessThan(420)
    expect(parts[0]?.split('\n').slice(0, 2)).toEqual(['user:', '[notes.pdf]'])
    expect(parts.join('').match(/word/g)).toHaveLength(80 * 29)
    expect(writeTranscript(path, Number.POSITIVE_INFINITY)).toHaveLength(1)
  })
})

describe('a question that is too long', () => {
  test.for([
    ['a chat that a summary shortens', buildPath(9), 700, { canSummarise: true }],
    ['the text of the only question', [message(1)], 50, { canSummarise: false, question: 1, file: undefined }],
    [
      'a text that is longer than the model',
      [...buildPath(8), message(9, { answer: { text: TEXT.repeat(9) } })],
      800,
      { canSummarise: false, question: 9, file: undefined },
    ],
    [
      'a file that is longer than the model',
      [...buildPath(8), message(9, { files: ['long.txt'] })],
      900,
      { canSummarise: false, question: 9, file: expect.objectContaining({ name: 'long.txt' }), room: 180 },
    ],
    [
      'the only question, where the input is not known',
      [message(1, { files: ['long.txt'] })],
      undefined,
      { canSummarise: false, room: undefined },
    ],
  ] as const)('is told apart: %s', ([, path, maxTokens, expected]) => {
    expect(findOverflow(splitPath(path), maxTokens, 20)).toMatchObject(expected)
  })

  test('is sent with as much of a file as there is room for', () => {
    expect(estimateTokens(takeBeginning(TEXT, 30))).toBe(30)
    expect(estimateTokens(takeBeginning(TEXT))).toBe(50)
    expect(takeBeginning('short', 30)).toBe('short')
    expect(takeBeginning('🍂'.repeat(9), 4).isWellFormed()).toBe(true)
  })
})
