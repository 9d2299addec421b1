// Reads and writes small archives in memory. The parser of office files reads with it, too.
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate'
import { DomUtils } from 'htmlparser2'
import { type Element, parseXml } from './xml.ts'

const DAY_MS = 86_400_000

/** Dates are days since the end of 1899, or since the beginning of 1904. */
const EPOCHS = { usual: Date.UTC(1899, 11, 30), of1904: Date.UTC(1904, 0, 1) }
const LAST_DAY = 2_958_465

/** Returns true for the built-in formats of dates and times. */
const isBuiltIn = (id: number) =>
  (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58)

/** Matches a cell with a number and a style. */
const numberCells =
  /<c\b([^>]*?) s="(\d+)"([^>]*)>(<f\b[^>]*(?:\/>|>[^<]*<\/f>))?<v>(\d+(?:\.\d+)?(?:E[+-]?\d+)?)<\/v><\/c>/g

/**
 * Writes the dates and times of a workbook as text, because its cells contain only numbers of days, and only their
 * formats show that they are dates.
 */
export function writeDatesAsText(bytes: Buffer): Buffer {
  const parts = unzipSync(bytes, { filter: ({ name }) => /\.(?:xml|rels)$/.test(name) })
  const styles = findDateStyles(parts['xl/styles.xml'])
  if (styles.size === 0) return bytes
  const is1904 = /date1904="(?:1|true)"/.test(parts['xl/workbook.xml'] ? strFromU8(parts['xl/workbook.xml']) : '')
  for (const [name, part] of Object.entries(parts)) {
    if (!/^xl\/worksheets\/[^/]+\.xml$/.test(name)) continue
    const iso = strFromU8(part).replace(
      numberCells,
      (cell, before: string, style: string, after: string, _, value: string) => {
        const isDate = styles.has(Number(style)) && !/ t="(?!n")/.test(before + after)
        const date = isDate ? formatDate(Number(value), is1904) : undefined
        return date === undefined ? cell : `<c${before}${after} t="inlineStr"><is><t>${date}</t></is></c>`
      },
    )
    parts[name] = strToU8(iso)
  }
  return Buffer.from(zipSync(parts, { level: 0 }))
}

/** Returns the indexes of the styles that show dates or times. */
function findDateStyles(part: Uint8Array | undefined): ReadonlySet<number> {
  if (!part) return new Set()
  const styles = parseXml(strFromU8(part))
  const formats = DomUtils.getElementsByTagName('numFmt', styles)
  const isDateByFormat = new Map(
    formats.map(({ attribs }) => [Number(attribs['numFmtId']), isDateFormat(attribs['formatCode'])]),
  )
  const [cells] = DomUtils.getElementsByTagName('cellXfs', styles, true, 1)
  const cellStyles = (cells?.children ?? []).filter((child): child is Element => (child as Element).name === 'xf')
  const isDate = ({ attribs }: Element) =>
    isDateByFormat.get(Number(attribs['numFmtId'])) ?? isBuiltIn(Number(attribs['numFmtId']))
  return new Set(cellStyles.flatMap((style, at) => (isDate(style) ? [at] : [])))
}

/** Ignores quoted text, conditions and colours. */
const isDateFormat = (format = ''): boolean =>
  /[dmyhs]/i.test(format.replace(/&quot;.*?&quot;|"[^"]*"|\\.|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, ''))

/** Writes a day, a time, or both. */
function formatDate(days: number, is1904: boolean): string | undefined {
  if (days > LAST_DAY) return undefined
  const iso = new Date(Math.round((is1904 ? EPOCHS.of1904 : EPOCHS.usual) + days * DAY_MS)).toISOString()
  const [day, time] = [iso.slice(0, 10), iso.slice(11, 19).replace(/:00$/, '')]
  if (days < 1) return time
  return Number.isInteger(days) ? day : `${day} ${time}`
}
