import type { TextKind } from '../../../server/files/sandbox/content-kinds.ts'
import { buildContentTypes, buildRelationships, odf, ooxml, relations, xml } from './documents.ts'
import { encodeText } from './encodings.ts'
import { makePdf } from './pdf.ts'
import { buildNumbered, buildParagraph, buildReference, buildRun, buildTable, makeWord } from './word.ts'
import { makeZip } from './zip.ts'

/** A file with the texts that a reader finds in it, in order. */
export interface Sample {
  kind: TextKind
  bytes: Buffer
  reference: readonly string[]
}

const style = (name: string) => `<w:pStyle w:val="${name}"/>`
const field = (form: string) =>
  `<w:r><w:fldChar w:fldCharType="begin"><w:ffData>${form}</w:ffData></w:fldChar></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>`
const math = (content: string) => `<m:oMath>${content}</m:oMath>`
const mathRun = (text: string) => `<m:r><m:t>${text}</m:t></m:r>`

const regulations = makeWord({
  header: buildParagraph(buildRun('Ordnung der Fakultät')),
  footer: buildParagraph(buildRun('Stand: Mai')),
  footnotes: ['Zahl laut Jahresbericht'],
  endnotes: ['Siehe Anlage'],
  comments: ['Bitte prüfen'],
  body: [
    buildParagraph(buildRun('Geltung'), style('Heading1')),
    buildParagraph(buildRun('Ort'), style('Heading2')),
    buildParagraph(buildRun('Zeit'), style('Heading2')),
    buildParagraph(buildRun('Fristen'), style('Heading1')),
    buildParagraph(buildRun('Tage'), style('Heading2')),
    buildNumbered('Antrag', 2),
    buildNumbered('Zeugnis', 2),
    buildNumbered('Kopie', 2, 1),
    buildNumbered('Foto', 2),
    buildNumbered('Hinweis', 3),
    buildNumbered('Nachtrag', 4),
    buildParagraph(
      buildRun('Es waren 412 Studierende') +
        buildReference('footnote', 1) +
        buildRun('; am Ende') +
        buildReference('endnote', 1) +
        buildRun(' mehr') +
        buildReference('comment', 1),
    ),
    buildTable([
      ['Fach', 'Plätze'],
      ['Physik', `${buildParagraph(buildRun('40'))}${buildTable([['davon', '12']])}`],
    ]),
    buildParagraph(
      `${buildRun('Formel ')}${math(`<m:f><m:num>${mathRun('a')}</m:num><m:den>${mathRun('2b')}</m:den></m:f>`)}`,
    ),
    buildParagraph(
      `<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="1"/></w14:checkbox></w:sdtPr><w:sdtContent>${buildRun('☒')}</w:sdtContent></w:sdt>${buildRun(' ja')}`,
    ),
    buildParagraph(field('<w:checkBox><w:default w:val="0"/></w:checkBox>') + buildRun(' nein')),
    buildParagraph(
      buildRun('Kurs: ') +
        field('<w:ddList><w:result w:val="1"/><w:listEntry w:val="Alt"/><w:listEntry w:val="Neu"/></w:ddList>'),
    ),
    buildParagraph(
      `<w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>${buildRun(' Ziel E')}<w:r><w:noBreakHyphen/></w:r>${buildRun('Mail')}`,
    ),
    buildParagraph(
      `<w:r><w:ruby><w:rt>${buildRun('かん')}</w:rt><w:rubyBase>${buildRun('漢')}</w:rubyBase></w:ruby></w:r><w:ins w:id="1">${buildRun(' Zusatz')}</w:ins><w:del w:id="2"><w:r><w:delText>Streichung</w:delText></w:r></w:del>`,
    ),
    '<w:sectPr><w:headerReference w:type="default" r:id="rId6"/><w:footerReference w:type="default" r:id="rId7"/></w:sectPr>',
  ].join(''),
})

const office = (
  main: string,
  parts: Readonly<Record<string, [type: string, content: string, related?: Record<string, string>]>>,
) =>
  makeZip([
    {
      name: '[Content_Types].xml',
      content: buildContentTypes(Object.fromEntries(Object.entries(parts).map(([name, [type]]) => [name, type]))),
    },
    { name: '_rels/.rels', content: buildRelationships({ [main]: 'officeDocument' }) },
    ...Object.entries(parts).flatMap(([name, [, content, targets]]) => [
      { name, content: xml + content },
      ...(targets ? [{ name: name.replace(/([^/]+)$/, '_rels/$1.rels'), content: buildRelationships(targets) }] : []),
    ]),
  ])

const drawing = `xmlns:a="${ooxml}/drawingml/2006/main" xmlns:p="${ooxml}/presentationml/2006/main" xmlns:r="${relations}"`
const shape = (text: string, placeholder = '') =>
  `<p:sp><p:nvSpPr><p:nvPr>${placeholder}</p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sp>`
const cells = (...texts: string[]) =>
  `<a:tr>${texts.map((text) => `<a:tc><a:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></a:txBody></a:tc>`).join('')}</a:tr>`
const slide = (content: string) => `<p:sld ${drawing}><p:cSld><p:spTree>${content}</p:spTree></p:cSld></p:sld>`

const slides = office('ppt/presentation.xml', {
  'ppt/presentation.xml': [
    'presentationml.presentation.main',
    `<p:presentation ${drawing}><p:sldIdLst><p:sldId id="256" r:id="rId1"/><p:sldId id="257" r:id="rId2"/></p:sldIdLst></p:presentation>`,
    { 'slides/slide1.xml': 'slide', 'slides/slide2.xml': 'slide' },
  ],
  'ppt/slides/slide1.xml': [
    'presentationml.slide',
    slide(shape('Begrüßung')),
    { '../notesSlides/notesSlide1.xml': 'notesSlide' },
  ],
  'ppt/slides/slide2.xml': [
    'presentationml.slide',
    slide(
      `${shape('Ablauf')}<p:graphicFrame><a:graphic><a:graphicData><a:tbl>${cells('Zeit', 'Thema')}${cells('9 Uhr', 'Anfang')}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>`,
    ),
  ],
  'ppt/notesSlides/notesSlide1.xml': [
    'presentationml.notesSlide',
    `<p:notes ${drawing}><p:cSld><p:spTree>${shape('Langsam sprechen', '<p:ph type="body"/>')}</p:spTree></p:cSld></p:notes>`,
    { '../slides/slide1.xml': 'slide' },
  ],
})

const sheet = (rows: string) =>
  `<worksheet xmlns="${ooxml}/spreadsheetml/2006/main"><sheetData>${rows}</sheetData></worksheet>`

const workbook = office('xl/workbook.xml', {
  'xl/workbook.xml': [
    'spreadsheetml.sheet.main',
    `<workbook xmlns="${ooxml}/spreadsheetml/2006/main" xmlns:r="${relations}"><sheets><sheet name="Kosten" sheetId="1" r:id="rId1"/><sheet name="Plan" sheetId="2" r:id="rId2"/></sheets></workbook>`,
    {
      'worksheets/sheet1.xml': 'worksheet',
      'worksheets/sheet2.xml': 'worksheet',
      'sharedStrings.xml': 'sharedStrings',
      'styles.xml': 'styles',
    },
  ],
  'xl/worksheets/sheet1.xml': [
    'spreadsheetml.worksheet',
    sheet(
      '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1"><v>500.5</v></c></row><row r="2"><c r="A2" t="inlineStr"><is><t>Summe</t></is></c><c r="C2"><f>SUM(C1)</f><v>500.5</v></c></row><row r="3"><c r="A3" t="b"><v>1</v></c><c r="B3" s="1"><v>45000</v></c></row>',
    ),
    { '../comments1.xml': 'comments' },
  ],
  'xl/worksheets/sheet2.xml': [
    'spreadsheetml.worksheet',
    sheet('<row r="1"><c r="A1" t="inlineStr"><is><t>Umzug</t></is></c></row>'),
  ],
  'xl/comments1.xml': [
    'spreadsheetml.comments',
    `<comments xmlns="${ooxml}/spreadsheetml/2006/main"><authors><author>Ada</author></authors><commentList><comment ref="A1" authorId="0"><text><t>Warm oder kalt?</t></text></comment></commentList></comments>`,
  ],
  'xl/sharedStrings.xml': [
    'spreadsheetml.sharedStrings',
    `<sst xmlns="${ooxml}/spreadsheetml/2006/main"><si><r><t>Mie</t></r><r><t>te</t></r></si></sst>`,
  ],
  'xl/styles.xml': [
    'spreadsheetml.styles',
    `<styleSheet xmlns="${ooxml}/spreadsheetml/2006/main"><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>`,
  ],
})

const odfFile = (kind: string, body: string, more = '') =>
  makeZip([
    { name: 'mimetype', content: `application/vnd.oasis.opendocument.${kind}` },
    {
      name: 'META-INF/manifest.xml',
      content: `${xml}<manifest:manifest xmlns:manifest="${odf}:manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.${kind}"/></manifest:manifest>`,
    },
    {
      name: 'content.xml',
      content: `${xml}<office:document-content xmlns:office="${odf}:office:1.0" xmlns:text="${odf}:text:1.0" xmlns:table="${odf}:table:1.0" xmlns:draw="${odf}:drawing:1.0" xmlns:presentation="${odf}:presentation:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/">${more}<office:body>${body}</office:body></office:document-content>`,
    },
  ])

const odfTable = (rows: readonly string[][]) =>
  `<table:table table:name="Tabelle">${rows.map((cells) => `<table:table-row>${cells.map((cell) => `<table:table-cell office:value-type="string"><text:p>${cell}</text:p></table:table-cell>`).join('')}</table:table-row>`).join('')}</table:table>`

const odfText = odfFile(
  'text',
  `<office:text><text:h text:outline-level="1">Geltung</text:h><text:list><text:list-item><text:p>Antrag</text:p></text:list-item><text:list-item><text:p>Zeugnis</text:p></text:list-item></text:list><text:p>Es waren 412<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body><text:p>Zahl laut Jahresbericht</text:p></text:note-body></text:note> Studierende<office:annotation><dc:creator>Ada</dc:creator><text:p>Bitte prüfen</text:p></office:annotation></text:p>${odfTable(
    [
      ['Fach', 'Plätze'],
      ['Physik', '40'],
    ],
  )}<text:p>Schluss</text:p></office:text>`,
)

const rtf = String.raw`{\rtf1\ansi\ansicpg1252 Guten {\b Tag}\par W\'f6rter{\footnote Zahl laut Jahresbericht}\par\trowd\cellx1000\cellx2000 Fach\cell Pl\'e4tze\cell\row\trowd\cellx1000\cellx2000 Physik\cell 40\cell\row\pard Schluss\par}`

const html =
  '<!doctype html><meta charset="windows-1251"><title>Seite</title><script>steal()</script><h1>Правила</h1><ol><li>Первое</li><li>Второе</li></ol><table><tr><th>Город</th><th>Люди</th></tr><tr><td>Москва</td><td>13</td></tr></table><p>Конец <a href="https://example.org/x">здесь</a></p>'

export const samples: Readonly<Record<string, Sample>> = {
  'a Word document': {
    kind: 'docx',
    bytes: regulations,
    reference: [
      'Ordnung der Fakultät',
      '§ I Geltung',
      '1.1 Ort',
      '1.2 Zeit',
      '§ II Fristen',
      '2.1 Tage',
      'a) Antrag',
      'b) Zeugnis',
      '(i) Kopie',
      'c) Foto',
      '- Hinweis',
      'e) Nachtrag',
      'Es waren 412 Studierende',
      'am Ende',
      'mehr',
      'Bitte prüfen',
      'Fach | Plätze',
      'Physik | 40',
      'davon | 12',
      'Formel',
      'a',
      '2b',
      '☒ ja',
      '☐ nein',
      'Kurs: Neu',
      '🗹 Ziel E\u2011Mail',
      '漢(かん)',
      'Zusatz',
      'Zahl laut Jahresbericht',
      'Siehe Anlage',
      'Stand: Mai',
    ],
  },
  'a workbook': {
    kind: 'xlsx',
    bytes: workbook,
    reference: ['Kosten', 'Miete', 'Warm oder kalt?', '500.5', 'Summe', '500.5', 'TRUE\t2023-03-15', 'Plan', 'Umzug'],
  },
  'a presentation': {
    kind: 'pptx',
    bytes: slides,
    reference: ['Begrüßung', 'Langsam sprechen', 'Ablauf', 'Zeit | Thema', '9 Uhr | Anfang'],
  },
  'an OpenDocument text': {
    kind: 'odt',
    bytes: odfText,
    reference: [
      'Geltung',
      'Antrag',
      'Zeugnis',
      'Es waren 412',
      'Studierende',
      'Bitte prüfen',
      'Fach | Plätze',
      'Physik | 40',
      'Schluss',
      'Zahl laut Jahresbericht',
    ],
  },
  'an OpenDocument workbook': {
    kind: 'ods',
    bytes: odfFile('spreadsheet', `<office:spreadsheet>${odfTable([['Miete', '500']])}</office:spreadsheet>`),
    reference: ['Miete\t500'],
  },
  'an OpenDocument presentation': {
    kind: 'odp',
    bytes: odfFile(
      'presentation',
      `<office:presentation><draw:page draw:name="1"><draw:frame><draw:text-box><text:p>Begrüßung</text:p></draw:text-box></draw:frame><presentation:notes><draw:frame><draw:text-box><text:p>Langsam sprechen</text:p></draw:text-box></draw:frame></presentation:notes></draw:page></office:presentation>`,
    ),
    reference: ['Begrüßung', 'Langsam sprechen'],
  },
  'an RTF document': {
    kind: 'rtf',
    bytes: Buffer.from(rtf),
    reference: ['Guten Tag', 'Wörter', 'Fach | Plätze', 'Physik | 40', 'Schluss', 'Zahl laut Jahresbericht'],
  },
  'a page in Windows-1251': {
    kind: 'html',
    bytes: encodeText(html, 'windows-1251'),
    reference: ['Правила', 'Первое', 'Второе', 'Город | Люди', 'Москва | 13', 'Конец здесь', 'https://example.org/x'],
  },
  'a PDF': {
    kind: 'pdf',
    bytes: makePdf({ lines: ['First page', 'Second page'] }),
    reference: ['First page', 'Second page'],
  },
}
