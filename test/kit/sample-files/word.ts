import { buildContentTypes, buildRelationships, ooxml, relations, xml } from './documents.ts'
import { makeZip } from './zip.ts'

const namespaces = `xmlns:w="${ooxml}/wordprocessingml/2006/main" xmlns:r="${relations}" xmlns:m="${ooxml}/officeDocument/2006/math" xmlns:wp="${ooxml}/drawingml/2006/wordprocessingDrawing" xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"`

export const buildRun = (text: string) => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`

/** A paragraph of runs in XML. */
export const buildParagraph = (content: string, properties = '') => `<w:p><w:pPr>${properties}</w:pPr>${content}</w:p>`

export const buildNumbered = (text: string, list: number, level = 0) =>
  buildParagraph(buildRun(text), `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${list}"/></w:numPr>`)

export const buildTable = (rows: readonly string[][]) =>
  `<w:tbl>${rows.map((cells) => `<w:tr>${cells.map((cell) => `<w:tc>${cell.startsWith('<') ? cell : buildParagraph(buildRun(cell))}</w:tc>`).join('')}</w:tr>`).join('')}</w:tbl>`

export const buildReference = (kind: 'footnote' | 'endnote' | 'comment', id: number) =>
  `<w:r><w:${kind}Reference w:id="${id}"/></w:r>`

const buildLevel = (at: number, format: string, text: string, style = '', more = '') =>
  `<w:lvl w:ilvl="${at}"><w:start w:val="1"/><w:numFmt w:val="${format}"/>${style && `<w:pStyle w:val="${style}"/>`}${more}<w:lvlText w:val="${text}"/></w:lvl>`

/** Lists: 1 is that of the headings, 2 has letters and roman numbers, 3 has bullets, 4 begins list 2 anew at 5. */
const numbering = `<w:abstractNum w:abstractNumId="1">${buildLevel(0, 'upperRoman', '§ %1', 'Heading1')}${buildLevel(1, 'decimal', '%1.%2', 'Heading2', '<w:isLgl/>')}</w:abstractNum>
<w:abstractNum w:abstractNumId="2">${buildLevel(0, 'lowerLetter', '%1)')}${buildLevel(1, 'lowerRoman', '(%2)')}</w:abstractNum>
<w:abstractNum w:abstractNumId="3">${buildLevel(0, 'bullet', '\uf0b7')}</w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="2"/></w:num><w:num w:numId="3"><w:abstractNumId w:val="3"/></w:num>
<w:num w:numId="4"><w:abstractNumId w:val="2"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>`

const styles = `<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Heading2"><w:name w:val="heading 2"/><w:basedOn w:val="Heading1"/><w:pPr><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr></w:style>`

interface WordParts {
  body: string
  footnotes?: readonly string[]
  endnotes?: readonly string[]
  comments?: readonly string[]
  header?: string
  footer?: string
  /** Names of pictures and embedded files, whose content is of no matter. */
  files?: readonly string[]
}

/** A Word document with the parts that one of an office has: notes, comments, lists and headings with numbers. */
export function makeWord({
  body,
  footnotes = [],
  endnotes = [],
  comments = [],
  header,
  footer,
  files = [],
}: WordParts) {
  const part = (name: string, content: string) => `${xml}<w:${name} ${namespaces}>${content}</w:${name}>`
  const notes = (kind: string, texts: readonly string[]) =>
    part(
      `${kind}s`,
      texts
        .map((text, at) => `<w:${kind} w:id="${at + 1}" w:author="Ada">${buildParagraph(buildRun(text))}</w:${kind}>`)
        .join(''),
    )
  const parts: Record<string, [type: string, content: string] | undefined> = {
    styles: ['styles', part('styles', styles)],
    numbering: ['numbering', part('numbering', numbering)],
    footnotes: ['footnotes', notes('footnote', footnotes)],
    endnotes: ['endnotes', notes('endnote', endnotes)],
    comments: ['comments', notes('comment', comments)],
    header1: header === undefined ? undefined : ['header', part('hdr', header)],
    footer1: footer === undefined ? undefined : ['footer', part('ftr', footer)],
  }
  const presentParts = Object.entries(parts).flatMap(([name, entry]) =>
    entry ? [{ name, type: entry[0], content: entry[1] }] : [],
  )
  return makeZip([
    {
      name: '[Content_Types].xml',
      content: buildContentTypes({
        'word/document.xml': 'wordprocessingml.document.main',
        ...Object.fromEntries(presentParts.map(({ name, type }) => [`word/${name}.xml`, `wordprocessingml.${type}`])),
      }),
    },
    { name: '_rels/.rels', content: buildRelationships({ 'word/document.xml': 'officeDocument' }) },
    {
      name: 'word/_rels/document.xml.rels',
      content: buildRelationships(Object.fromEntries(presentParts.map(({ name, type }) => [`${name}.xml`, type]))),
    },
    { name: 'word/document.xml', content: part('document', `<w:body>${body}</w:body>`) },
    ...presentParts.map(({ name, content }) => ({ name: `word/${name}.xml`, content })),
    ...files.map((name) => ({ name, content: name })),
  ])
}
