import { expect, test } from 'vitest'
import type { TextKind } from '../../server/files/sandbox/content-kinds.ts'
import { extractText } from '../../server/files/sandbox/extract.ts'
import { odf } from '../kit/sample-files/documents.ts'
import { makePdf } from '../kit/sample-files/pdf.ts'
import { buildParagraph, buildRun, buildTable, makeWord } from '../kit/sample-files/word.ts'
import { makeZip } from '../kit/sample-files/zip.ts'

/** Returns each mark with the beginning of the line where it stands. */
async function listPlaces(bytes: Buffer | string, kind: TextKind) {
  const found = await extractText(Buffer.from(bytes), kind, 100_000)
  if ('unreadable' in found) throw new Error(found.unreadable)
  const { text, marks } = found
  return marks.map(({ kind: mark, at, value }) => [mark, value, text.slice(at).trimStart().split('\n')[0]])
}

test('the text of a PDF marks where each page begins', async () => {
  const pdf = makePdf({ lines: ['first page', '', 'third page'] })

  expect(await listPlaces(pdf, 'pdf')).toEqual([
    ['page', 1, 'first page'],
    ['page', 2, 'third page'],
    ['page', 3, 'third page'],
  ])
})

test('the text of Markdown marks headings and tables outside of code', async () => {
  const markdown =
    '\r\n\r\n\r\n# One  \r\n\r\n\r\n\r\ntext\r\n```\n# no heading\n```\n## Two\n| a | b |\n|---|---|\n| 1 | 2 |\nend'

  expect(await listPlaces(markdown, 'markdown')).toEqual([
    ['heading', 1, '# One'],
    ['heading', 2, '## Two'],
    ['table', 0, '| a | b |'],
    ['table-end', 0, 'end'],
  ])
})

test('a fence of Markdown ends only at a marker alone that is as long', async () => {
  const markdown = '````js\n```\n# no heading\n````js\n# none\n````  \n# One\n```code``` in a line\n# Two\n'

  expect(await listPlaces(markdown, 'markdown')).toEqual([
    ['heading', 1, '# One'],
    ['heading', 1, '# Two'],
  ])
})

test('other text has no marks, whatever its lines begin with', async () => {
  expect(await listPlaces('# a comment\nrun\n', 'plain')).toEqual([])
})

test('the text of HTML marks headings and tables within other elements', async () => {
  const html =
    '<main><section><h1>One</h1><p>text</p><div><h2>Two</h2><table><tr><th>a</th></tr><tr><td>1</td></tr></table></div></section><p>end</p></main>'

  expect(await listPlaces(html, 'html')).toEqual([
    ['heading', 1, 'One'],
    ['heading', 2, 'Two'],
    ['table', 0, '| a |'],
    ['table-end', 0, 'end'],
  ])
})

test('the text of a Word document marks headings with their numbers, and tables', async () => {
  const heading = (text: string, level: number) => buildParagraph(buildRun(text), `<w:pStyle w:val="Heading${level}"/>`)
  const body = `${heading('One', 1)}${heading('Two', 2)}${buildTable([['a'], ['1']])}${buildParagraph(buildRun('end'))}`

  expect(await listPlaces(makeWord({ body }), 'docx')).toEqual([
    ['heading', 1, '§ I One'],
    ['heading', 2, '1.1 Two'],
    ['table', 0, '| a |'],
    ['table-end', 0, 'end'],
  ])
})

/** A text document of OpenDocument with headings of these levels, each with its level as its text. */
const makeHeadings = (levels: readonly string[]) =>
  makeZip([
    { name: 'mimetype', content: 'application/vnd.oasis.opendocument.text' },
    {
      name: 'content.xml',
      content: `<office:document-content xmlns:office="${odf}:office:1.0" xmlns:text="${odf}:text:1.0"><office:body><office:text>${levels.map((level) => `<text:h text:outline-level="${level}">${level}</text:h>`).join('')}</office:text></office:body></office:document-content>`,
    },
  ])

test('a heading of an impossible level is one of the first level', async () => {
  const headings = ['-3', '99999999999999999999'].map((level) =>
    buildParagraph(buildRun(`Level ${level}`), `<w:pStyle w:val="Heading${level}"/>`),
  )

  expect(await listPlaces(makeWord({ body: headings.join('') }), 'docx')).toEqual([
    ['heading', 1, 'Level -3'],
    ['heading', 1, 'Level 99999999999999999999'],
  ])
  expect(await listPlaces(makeHeadings(['first']), 'odt')).toEqual([['heading', 1, 'first']])
})

test('headings are at most ten levels deep, whatever a file says', async () => {
  const places = await listPlaces(makeHeadings(['9', '10', '11', '5000']), 'odt')

  expect(places.map(([, level]) => level)).toEqual([9, 10, 10, 10])
})

test('a text with too many places ends there, and says that it is cut', async () => {
  const found = await extractText(Buffer.from('# a\n'.repeat(50_001)), 'markdown', 1_000_000)

  expect(found).toMatchObject({ truncated: true, text: '# a\n'.repeat(50_000).trim() })
})
