import { constants, deflateRawSync } from 'node:zlib'
import { zipSync } from 'fflate'

/** A message of ChatGPT's export, by what it says and which one it follows. */
export interface GptNode {
  parent?: string
  role?: string
  text?: string
  time?: number
  /** Further members of the message. */
  more?: object
}

const START_TIME = 1_700_000_000

/** A conversation as ChatGPT exports it. The first message follows one that says nothing. */
export function buildGptConversation(id: string, title: string, nodes: Record<string, GptNode>, more: object = {}) {
  const mapping = Object.entries(nodes).map(([name, { parent = 'root', role = 'user', text = '', time = 0, more }]) => [
    name,
    {
      id: name,
      parent,
      children: [],
      message: {
        id: name,
        author: { role },
        create_time: START_TIME + time,
        content: { content_type: 'text', parts: [text] },
        metadata: role === 'assistant' ? { model_slug: 'gpt-4o' } : {},
        recipient: 'all',
        ...more,
      },
    },
  ])
  return {
    conversation_id: id,
    title,
    create_time: START_TIME,
    update_time: START_TIME + 100,
    mapping: { root: { id: 'root', parent: null, message: null, children: [] }, ...Object.fromEntries(mapping) },
    ...more,
  }
}

/** A question with its answer, as ChatGPT exports them. */
export const buildGptTurn = (id: string, title: string) =>
  buildGptConversation(id, title, {
    q: { text: `Question of ${title}` },
    a: { parent: 'q', role: 'assistant', text: `Answer of ${title}` },
  })

/** With an edited question, a search with sources, thoughts, a picture and hidden messages. */
export const richConversation = buildGptConversation(
  'rich',
  'Standard errors',
  {
    sys: { role: 'system', text: 'hidden system words' },
    q1: { parent: 'sys', text: 'First wording', time: 1 },
    a1: { parent: 'q1', role: 'assistant', text: 'First answer', time: 2 },
    q2: {
      parent: 'sys',
      text: 'Second wording',
      time: 3,
      more: {
        content: {
          content_type: 'multimodal_text',
          parts: [{ content_type: 'image_asset_pointer' }, 'Second wording'],
        },
      },
    },
    th: {
      parent: 'q2',
      role: 'assistant',
      time: 4,
      more: { content: { content_type: 'thoughts', thoughts: [{ summary: 'Think', content: 'A deep thought' }] } },
    },
    call: { parent: 'th', role: 'assistant', text: 'search("errors")', time: 5, more: { recipient: 'web.run' } },
    out: { parent: 'call', role: 'tool', text: 'Found a page', time: 6 },
    a2: {
      parent: 'out',
      role: 'assistant',
      text: 'It shrinks \uE200cite\uE202turn0\uE201with **n**.',
      time: 7,
      more: {
        metadata: {
          model_slug: 'gpt-5',
          content_references: [{ items: [{ title: 'Errors', url: 'https://errors.example.org/n' }] }],
        },
      },
    },
  },
  { current_node: 'a2' },
)

const root = '00000000-0000-0000-0000-000000000000'

/** A conversation as LibreChat exports it, the answers in a list. */
export const libreConversation = {
  conversationId: 'libre-1',
  endpoint: 'openAI',
  title: 'Letter to the dean',
  exportAt: '2024-05-01',
  branches: true,
  recursive: false,
  messages: [
    { messageId: 'm1', parentMessageId: root, text: 'Write a letter', sender: 'User', isCreatedByUser: true },
    {
      messageId: 'm2',
      parentMessageId: 'm1',
      sender: 'GPT-4',
      isCreatedByUser: false,
      model: 'gpt-4',
      text: '',
      content: [
        { type: 'think', think: 'Whom to?' },
        { type: 'text', text: 'Dear dean,' },
      ],
      createdAt: '2024-05-01T10:00:00.000Z',
    },
    { messageId: 'm3', parentMessageId: 'm1', sender: 'GPT-4', isCreatedByUser: false, text: 'Dear Sir or Madam,' },
  ],
}

/** The same with its messages in one another. */
export const nestedLibreConversation = {
  ...libreConversation,
  conversationId: 'libre-2',
  title: 'Nested letter',
  recursive: true,
  messages: [
    {
      messageId: 'n1',
      text: 'Nested question',
      isCreatedByUser: true,
      children: [{ messageId: 'n2', text: 'Nested answer', isCreatedByUser: false, model: 'gpt-4', children: [] }],
    },
  ],
}

export const encodeJson = (value: unknown) => Buffer.from(JSON.stringify(value))

export const packZip = (files: Record<string, Buffer>) => Buffer.from(zipSync(files))

/** An archive whose only file unpacks to more than a gigabyte, whatever it says itself. */
export function buildZipBomb(name: string, claimed: number): Buffer {
  // A piece that ends on a byte can stand behind itself.
  const blank = deflateRawSync(Buffer.alloc(16 * 1024 * 1024, ' '), { finishFlush: constants.Z_FULL_FLUSH })
  const deflated = Buffer.concat(Array(70).fill(blank))
  const file = Buffer.from(name)
  const sizes = [20, 8, 0, 0, 0, 0, deflated.length, claimed]
  const local = buildRecord(0x04034b50, [...buildFields(sizes), [2, file.length], [2, 0]], file)
  const entry = buildRecord(
    0x02014b50,
    [[2, 20], ...buildFields(sizes), [2, file.length], [2, 0], [2, 0], [2, 0], [2, 0], [4, 0], [4, 0]],
    file,
  )
  const counts: Field[] = [
    [2, 0],
    [2, 0],
    [2, 1],
    [2, 1],
    [4, entry.length],
    [4, local.length + deflated.length],
    [2, 0],
  ]
  return Buffer.concat([local, deflated, entry, buildRecord(0x06054b50, counts)])
}

type Field = readonly [width: 2 | 4, value: number]

/** Version, flags, method, time, date, check sum, packed and unpacked size. */
const buildFields = (values: readonly number[]): Field[] =>
  values.map((value, index) => [index < 5 ? 2 : 4, value] as const)

function buildRecord(signature: number, fields: readonly Field[], name = Buffer.alloc(0)): Buffer {
  const parts = ([[4, signature], ...fields] as Field[]).map(([width, value]) => {
    const part = Buffer.alloc(width)
    part.writeUIntLE(value, 0, width)
    return part
  })
  return Buffer.concat([...parts, name])
}
