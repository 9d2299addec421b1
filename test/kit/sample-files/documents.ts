import { makeZip, type ZipEntry } from './zip.ts'

export const xml = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
export const ooxml = 'http://schemas.openxmlformats.org'
export const relations = `${ooxml}/officeDocument/2006/relationships`

export const buildContentTypes = (parts: Record<string, string>) =>
  `${xml}<Types xmlns="${ooxml}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${Object.entries(
    parts,
  )
    .map(
      ([name, type]) =>
        `<Override PartName="/${name}" ContentType="application/vnd.openxmlformats-officedocument.${type}+xml"/>`,
    )
    .join('')}</Types>`

export const buildRelationships = (targets: Record<string, string>) =>
  `${xml}<Relationships xmlns="${ooxml}/package/2006/relationships">${Object.entries(targets)
    .map(
      ([target, type], index) => `<Relationship Id="rId${index + 1}" Type="${relations}/${type}" Target="${target}"/>`,
    )
    .join('')}</Relationships>`

/** A Word document of these paragraphs; `more` are entries beside its own. */
export const makeDocx = (paragraphs: readonly string[], more: readonly ZipEntry[] = [], prolog = '') =>
  makeZip([
    {
      name: '[Content_Types].xml',
      content: buildContentTypes({ 'word/document.xml': 'wordprocessingml.document.main' }),
    },
    { name: '_rels/.rels', content: buildRelationships({ 'word/document.xml': 'officeDocument' }) },
    {
      name: 'word/document.xml',
      content: `${xml}${prolog}<w:document xmlns:w="${ooxml}/wordprocessingml/2006/main"><w:body>${paragraphs.map((text) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`).join('')}</w:body></w:document>`,
    },
    ...more,
  ])

/** A workbook with one sheet of these rows. */
export const makeXlsx = (rows: readonly string[][]) =>
  makeZip([
    {
      name: '[Content_Types].xml',
      content: buildContentTypes({
        'xl/workbook.xml': 'spreadsheetml.sheet.main',
        'xl/worksheets/sheet1.xml': 'spreadsheetml.worksheet',
      }),
    },
    { name: '_rels/.rels', content: buildRelationships({ 'xl/workbook.xml': 'officeDocument' }) },
    {
      name: 'xl/workbook.xml',
      content: `${xml}<workbook xmlns="${ooxml}/spreadsheetml/2006/main" xmlns:r="${relations}"><sheets><sheet name="Costs" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    },
    { name: 'xl/_rels/workbook.xml.rels', content: buildRelationships({ 'worksheets/sheet1.xml': 'worksheet' }) },
    {
      name: 'xl/worksheets/sheet1.xml',
      content: `${xml}<worksheet xmlns="${ooxml}/spreadsheetml/2006/main"><sheetData>${rows.map((cells, row) => `<row r="${row + 1}">${cells.map((text, column) => `<c r="${String.fromCharCode(65 + column)}${row + 1}" t="inlineStr"><is><t>${text}</t></is></c>`).join('')}</row>`).join('')}</sheetData></worksheet>`,
    },
  ])

export const odf = 'urn:oasis:names:tc:opendocument:xmlns'
