import type { TextKind } from './sandbox/text-kind.ts'

const officeDocument = 'application/vnd.openxmlformats-officedocument'
const openDocument = 'application/vnd.oasis.opendocument'

const kinds: Readonly<Record<string, TextKind>> = {
  'application/pdf': 'pdf',
  [`${officeDocument}.wordprocessingml.document`]: 'docx',
  [`${officeDocument}.spreadsheetml.sheet`]: 'xlsx',
  [`${officeDocument}.presentationml.presentation`]: 'pptx',
  [`${openDocument}.text`]: 'odt',
  [`${openDocument}.spreadsheet`]: 'ods',
  [`${openDocument}.presentation`]: 'odp',
  'application/rtf': 'rtf',
  'text/rtf': 'rtf',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
}

/** Subtypes of `application/` that are text: sources of programs, data and markup. */
const plain =
  /^application\/(json|schema\+json|xml|xslt\+xml|rss\+xml|wsdl\+xml|xv\+xml|yaml|sql|typescript|javascript|postscript|bat|vnd\.coffeescript|x-(sh|shellscript|bat|csh|tcl|tex|sql|yaml|javascript|perl|php|httpd-php|ruby|gettext|gettext-translation|troff-man|ndjson))$/

/** How the text of a media type is read; nothing where it has none, as pictures. */
export function findTextKind(mime: string): TextKind | undefined {
  return kinds[mime] ?? (mime.startsWith('text/') || plain.test(mime) ? 'plain' : undefined)
}
