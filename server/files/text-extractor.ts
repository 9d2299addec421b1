import type { ExtractionResult, FileToRead, TextExtractor } from '../../routers/ports/files/text-extractor.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { Env } from '../config/settings.ts'
import { type Converter, createConverter } from './file-converter.ts'
import type { TextKind } from './sandbox/content-kinds.ts'
import { createSandboxPool, type SandboxPool } from './sandbox-pool.ts'

interface ExtractorParts {
  sandboxes: SandboxPool
  converter?: Converter | undefined
  log: Log
}

/**
 * Creates the extractor, which reads plain text itself, passes other files to the converter if it takes them, and to
 * our parsers otherwise.
 */
export function createTextExtractor({ sandboxes, converter, log }: ExtractorParts): TextExtractor {
  const tryConverter = (file: FileToRead, signal?: AbortSignal) => {
    if (!converter || findTextKind(file.mime) === 'plain') return undefined
    return convertFile(file, converter, sandboxes, signal).catch((error: unknown) => {
      if (signal?.aborted || !findTextKind(file.mime)) throw error
      log.warn({ error }, 'a file could not be converted, and is read without the converter')
    })
  }
  return {
    canRead: (mime) => converter !== undefined || findTextKind(mime) !== undefined,
    extract: async (file, signal) => (await tryConverter(file, signal)) ?? parseFile(file, sandboxes, signal),
  }
}

/** Returns undefined if the converter does not take the file. */
async function convertFile(
  file: FileToRead,
  { accepts, convert, responseKind }: Converter,
  sandboxes: SandboxPool,
  signal?: AbortSignal,
): Promise<ExtractionResult | undefined> {
  if (!(await accepts(file.mime, signal))) return undefined
  const result = await sandboxes.read(await convert(file, signal), responseKind, signal)
  if ('text' in result) return result
  throw new Error(`the answer of the file converter is ${result.unreadable}`)
}

async function parseFile(file: FileToRead, sandboxes: SandboxPool, signal?: AbortSignal): Promise<ExtractionResult> {
  const kind = findTextKind(file.mime)
  if (!kind) return { text: '', marks: [], truncated: false, notes: [] }
  const isMarkdown = kind === 'plain' && /\.(?:md|markdown)$/i.test(file.name ?? '')
  return sandboxes.read(file.open(), isMarkdown ? 'markdown' : kind, signal)
}

const officeDocument = 'application/vnd.openxmlformats-officedocument'
const openDocument = 'application/vnd.oasis.opendocument'

const kindsByMediaType: Readonly<Record<string, TextKind>> = {
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

/** Subtypes of `application/` that are text, such as source code, data and markup. */
const plainTextTypes =
  /^application\/(json|schema\+json|xml|xslt\+xml|rss\+xml|wsdl\+xml|xv\+xml|yaml|sql|typescript|javascript|postscript|bat|vnd\.coffeescript|x-(sh|shellscript|bat|csh|tcl|tex|sql|yaml|javascript|perl|php|httpd-php|ruby|gettext|gettext-translation|troff-man|ndjson))$/

/** Returns how to read a media type; undefined if it has no text, such as an image. */
function findTextKind(mime: string): TextKind | undefined {
  return kindsByMediaType[mime] ?? (mime.startsWith('text/') || plainTextTypes.test(mime) ? 'plain' : undefined)
}

/** Creates the extractor with the configured converter and limits. */
export function openTextExtractor(env: Env, log: Log): { extractor: TextExtractor; close(): Promise<void> } {
  const converter = createConverter(env)
  const sandboxes = createSandboxPool({
    workers: env.FILE_TEXT_WORKERS,
    memory: env.FILE_TEXT_MEMORY,
    timeout: env.FILE_TEXT_TIMEOUT,
    maxCharacters: env.FILE_TEXT_MAX_CHARACTERS,
  })
  return { extractor: createTextExtractor({ sandboxes, converter, log }), close: async () => converter?.close() }
}
