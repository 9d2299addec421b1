import { expect, test } from 'vitest'
import { cutPassages, readPassage } from '../../routers/assistants/knowledge/passages.ts'
import { cooperativeIterable } from '../../routers/core/load/cooperative-iterable.ts'
import { estimateTokens } from '../../routers/ports/ai/token-estimate.ts'
import { extractText } from '../../server/files/sandbox/extract.ts'
import { startApp } from '../kit/app.ts'

/** Cuts Markdown, and returns each passage with its text. */
async function cut(markdown: string) {
  const extracted = await extractText(Buffer.from(markdown), 'markdown', 1_000_000)
  if ('unreadable' in extracted) throw new Error(extracted.unreadable)
  const { text, marks } = extracted
  const passages = cutPassages(text, marks)
  return passages.map((passage) => ({ ...passage, text: readPassage(text, passage) })).toArray()
}

const sentence = (n: number) => `Sentence number ${n} speaks about the matter of this paragraph at some length.`
const paragraph = (count: number, from = 0) => Array.from({ length: count }, (_, at) => sentence(from + at)).join(' ')

test('short neighbours are one passage with the headings that they share', async () => {
  const found = await cut('# Rules\n\n## First\n\nOne.\n\n## Second\n\nTwo.')

  expect(found).toMatchObject([{ headings: ['Rules'], text: '# Rules\n\n## First\n\nOne.\n\n## Second\n\nTwo.' }])
})

test('long sections are separate, and each knows the headings above it', async () => {
  const found = await cut(
    `# Rules\n\n## First\n\n${paragraph(15)}\n\n## Second\n\n${paragraph(15)}\n\n# Other\n\n${paragraph(15)}`,
  )

  expect(found.map(({ headings }) => headings)).toEqual([['Rules'], ['Rules', 'First'], ['Rules', 'Second'], ['Other']])
})

test('a long text is cut at sentences, of which the next passage repeats one', async () => {
  const found = await cut(paragraph(100))

  expect(found.length).toBeGreaterThan(3)
  for (const { text } of found) expect(estimateTokens(text)).toBeLessThanOrEqual(450)
  for (const [at, { text }] of found.entries()) {
    expect(text).toMatch(/^Sentence.*\.$/s)
    const last = text.slice(text.lastIndexOf('Sentence'))
    expect((found[at + 1]?.text ?? last).startsWith(last)).toBe(true)
  }
  expect(new Set(found.flatMap(({ text }) => text.match(/number \d+/g) ?? [])).size).toBe(100)
})

test('a long table is cut between rows, and each part has the head', async () => {
  const rows = Array.from({ length: 100 }, (_, at) => `| Course ${at} | ${at} euros and a deposit |`)
  const found = await cut(['Fees:', '| Course | Fee |', '|---|---|', ...rows, 'The end.'].join('\n'))
  const tables = found.filter(({ text }) => text.includes('| Course | Fee |'))

  expect(tables.length).toBeGreaterThan(1)
  for (const { text } of tables) expect(text).toMatch(/^\| Course \| Fee \|\n\|---\|---\|\n\| Course \d+ \|/)
  expect(tables.flatMap(({ text }) => text.match(/Course \d+/g))).toHaveLength(100)
  expect(found.map(({ text }) => text)).toEqual(expect.arrayContaining(['Fees:', 'The end.']))
})

test('text without sentences or spaces is cut, and no character is halved', async () => {
  const found = await cut('😀'.repeat(5000))

  expect(found.map(({ text }) => text).join('')).toBe('😀'.repeat(5000))
  for (const { text } of found) expect([estimateTokens(text) <= 460, text.isWellFormed()]).toEqual([true, true])
})

test('white space alone has no passages', () => {
  expect([...cutPassages('', [])]).toEqual([])
  expect([...cutPassages(' \n ', [{ kind: 'page', at: 0, value: 1 }])]).toEqual([])
})

test('other requests are answered while a long text is cut', async () => {
  await using app = await startApp()
  const text = paragraph(1000).repeat(150)
  const ends: string[] = []
  const request = fetch(`${app.url}/health/live`).then(() => ends.push('request'))
  for await (const { to } of cooperativeIterable(cutPassages(text, []))) if (to === text.length) ends.push('cut')
  await request

  expect(ends).toEqual(['request', 'cut'])
})
