import { type ZipEntry, zip } from './zip.ts'

const xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
const ooxml = 'http://schemas.openxmlformats.org'
const relations = `${ooxml}/officeDocument/2006/relationships`

const types = (parts: Record<string, string>) =>
  `${xml}<Types xmlns="${ooxml}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${Object.entries(
    parts,
  )
    .map(
      ([name, type]) =>
        `<Override PartName="/${name}" ContentType="application/vnd.openxmlformats-officedocument.${type}+xml"/>`,
    )
    .join('')}</Types>`

const rels = (targets: Record<string, string>) =>
  `${xml}<Relationships xmlns="${ooxml}/package/2006/relationships">${Object.entries(targets)
    .map(
      ([target, type], index) => `<Relationship Id="rId${index + 1}" Type="${relations}/${type}" Target="${target}"/>`,
    )
    .join('')}</Relationships>`

/** A Word document of these paragraphs; `more` are entries beside its own. */
export const docx = (paragraphs: readonly string[], more: readonly ZipEntry[] = [], prolog = '') =>
  zip([
    { name: '[Content_Types].xml', content: types({ 'word/document.xml': 'wordprocessingml.document.main' }) },
    { name: '_rels/.rels', content: rels({ 'word/document.xml': 'officeDocument' }) },
    {
      name: 'word/document.xml',
      content: `${xml}${prolog}<w:document xmlns:w="${ooxml}/wordprocessingml/2006/main"><w:body>${paragraphs.map((text) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`).join('')}</w:body></w:document>`,
    },
    ...more,
  ])

/** A workbook with one sheet of these rows. */
export const xlsx = (rows: readonly string[][]) =>
  zip([
    {
      name: '[Content_Types].xml',
      content: types({
        'xl/workbook.xml': 'spreadsheetml.sheet.main',
        'xl/worksheets/sheet1.xml': 'spreadsheetml.worksheet',
      }),
    },
    { name: '_rels/.rels', content: rels({ 'xl/workbook.xml': 'officeDocument' }) },
    {
      name: 'xl/workbook.xml',
      content: `${xml}<workbook xmlns="${ooxml}/spreadsheetml/2006/main" xmlns:r="${relations}"><sheets><sheet name="Costs" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    },
    { name: 'xl/_rels/workbook.xml.rels', content: rels({ 'worksheets/sheet1.xml': 'worksheet' }) },
    {
      name: 'xl/worksheets/sheet1.xml',
      content: `${xml}<worksheet xmlns="${ooxml}/spreadsheetml/2006/main"><sheetData>${rows.map((cells, row) => `<row r="${row + 1}">${cells.map((text, column) => `<c r="${String.fromCharCode(65 + column)}${row + 1}" t="inlineStr"><is><t>${text}</t></is></c>`).join('')}</row>`).join('')}</sheetData></worksheet>`,
    },
  ])

/** A presentation with a slide for each text. */
export const pptx = (slides: readonly string[]) =>
  zip([
    {
      name: '[Content_Types].xml',
      content: types({
        'ppt/presentation.xml': 'presentationml.presentation.main',
        ...Object.fromEntries(slides.map((_, index) => [`ppt/slides/slide${index + 1}.xml`, 'presentationml.slide'])),
      }),
    },
    { name: '_rels/.rels', content: rels({ 'ppt/presentation.xml': 'officeDocument' }) },
    {
      name: 'ppt/presentation.xml',
      content: `${xml}<p:presentation xmlns:p="${ooxml}/presentationml/2006/main" xmlns:r="${relations}"><p:sldIdLst>${slides.map((_, index) => `<p:sldId id="${256 + index}" r:id="rId${index + 1}"/>`).join('')}</p:sldIdLst></p:presentation>`,
    },
    {
      name: 'ppt/_rels/presentation.xml.rels',
      content: rels(Object.fromEntries(slides.map((_, index) => [`slides/slide${index + 1}.xml`, 'slide']))),
    },
    ...slides.map((text, index) => ({
      name: `ppt/slides/slide${index + 1}.xml`,
      content: `${xml}<p:sld xmlns:p="${ooxml}/presentationml/2006/main" xmlns:a="${ooxml}/drawingml/2006/main"><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>`,
    })),
  ])

const odf = 'urn:oasis:names:tc:opendocument:xmlns'

/** An OpenDocument text of these paragraphs. */
export const odt = (paragraphs: readonly string[]) =>
  zip([
    { name: 'mimetype', content: 'application/vnd.oasis.opendocument.text' },
    {
      name: 'META-INF/manifest.xml',
      content: `${xml}<manifest:manifest xmlns:manifest="${odf}:manifest:1.0"><manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.text"/></manifest:manifest>`,
    },
    {
      name: 'content.xml',
      content: `${xml}<office:document-content xmlns:office="${odf}:office:1.0" xmlns:text="${odf}:text:1.0"><office:body><office:text>${paragraphs.map((text) => `<text:p>${text}</text:p>`).join('')}</office:text></office:body></office:document-content>`,
    },
  ])
