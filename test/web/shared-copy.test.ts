import { expect, test } from 'vitest'
import {
  makeLinkKey,
  openCopy,
  type SharedCopy,
  sealCopy,
  WrongLinkKey,
} from '../../facades/web/app/shared/shared-copy.ts'
import { sealFile } from '../../facades/web/browser/crypto.ts'

const answer = { text: 'Yes.', citations: [], thoughts: [], tools: [] }
const message = { model: null, modelLabel: '', omittedFiles: 0, createdAt: '', files: [] }
const copy: SharedCopy = {
  title: 'A chat',
  sharedAt: '2026-01-01T00:00:00.000Z',
  instructions: '',
  messages: [
    {
      ...message,
      role: 'user',
      answer: { ...answer, text: 'Is it?' },
      files: [
        { name: 'a.txt', mime: 'text/plain', content: new Blob(['first']) },
        { name: 'b.txt', mime: 'text/plain', content: new Blob(['second']) },
      ],
    },
    { ...message, role: 'assistant', answer },
  ],
}

/** Seals what an owner with another program may store. */
async function sealText(text: string, linkKey: string): Promise<Blob> {
  const length = new DataView(new ArrayBuffer(4))
  length.setUint32(0, text.length)
  const key = `${linkKey.replaceAll('-', '+').replaceAll('_', '/')}=`
  return new Response(new Blob([length.buffer, text]).stream().pipeThrough(await sealFile(key))).blob()
}

test('a copy has its files, whose bytes stand one after the other', async () => {
  const key = makeLinkKey()
  const opened = await openCopy(await sealCopy(copy, key), key)

  expect(opened).toMatchObject({ title: 'A chat', messages: [{ role: 'user' }, { role: 'assistant', answer }] })
  const texts = opened.messages.flatMap(({ files }) => files.map(({ content }) => content.text()))
  expect(await Promise.all(texts)).toEqual(['first', 'second'])
})

test('nothing but a whole copy is opened, and only by its own key', async () => {
  const key = makeLinkKey()
  const sealed = await sealCopy(copy, key)
  const refuse = (blob: Blob, linkKey: string) => expect(openCopy(blob, linkKey)).rejects.toBeInstanceOf(WrongLinkKey)

  for (const wrong of [makeLinkKey(), key.slice(1), '']) await refuse(sealed, wrong)
  await refuse(sealed.slice(0, sealed.size - 1), key)
  await refuse(new Blob([]), key)
  const deep = `{"answer":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
  const texts = ['', 'no JSON', 'null', '{"format":2,"messages":[]}', '{"format":1}']
  for (const text of [...texts, `{"format":1,"messages":[${deep}]}`]) await refuse(await sealText(text, key), key)
})

test('a copy brings its reader no summary, thoughts, approvals or costs', async () => {
  const key = makeLinkKey()
  const hostile = {
    ...answer,
    thoughts: [{ text: 'a thought' }],
    tools: [{ id: '1', name: 'search', server: '', state: 'waiting', question: 'q', signature: 's' }],
    summary: { firstSent: 9, replaced: 9 },
    comparison: { id: 'c', side: 0, models: ['a', 'b'], isBlind: true },
    usage: { inputTokens: 1 },
    assistant: 'helper@3',
  }
  const messages = [{ role: 'system', answer: hostile }, 'no message', { role: 'assistant', answer: hostile }]
  const opened = await openCopy(await sealText(JSON.stringify({ format: 1, messages }), key), key)

  const tools = [{ id: '1', name: 'search', server: '', state: 'waiting' }]
  expect(opened.messages).toMatchObject([{ role: 'user' }, { role: 'assistant' }])
  for (const read of opened.messages) expect(read.answer).toEqual({ ...answer, tools })
})
