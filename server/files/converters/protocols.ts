import type { Env } from '../../config/settings.ts'
import type { AnswerKind } from '../sandbox/answer-kinds.ts'

/** How a service is spoken to. */
export interface Protocol {
  url: string
  key?: string | undefined
  /** Milliseconds to wait for an answer. */
  timeout: number
  /** The field of the form that takes the file, and those beside it. */
  field: string
  fields?: Record<string, string>
  answers: AnswerKind
  /** Extensions of the files that it takes, or the address that lists them. */
  formats: readonly string[] | { listedAt: string }
}

const doclingFormats = [
  'pdf',
  'docx',
  'pptx',
  'xlsx',
  'html',
  'md',
  'adoc',
  'csv',
  'vtt',
  'png',
  'jpg',
  'jpeg',
  'tiff',
  'tif',
  'bmp',
  'webp',
]

/** The marks of pages let a model say where in a document something stands. */
const kreuzbergConfig = {
  use_cache: false,
  ocr: { backend: 'tesseract', language: 'deu+eng' },
  pages: { insert_page_markers: true },
}

export const protocols = {
  svc_converter: (env: Env): Protocol => ({
    url: env.SVC_FILE_CONVERTER_API_URL ?? '',
    key: env.SVC_FILE_CONVERTER_API_KEY,
    timeout: env.SVC_FILE_CONVERTER_TIMEOUT,
    field: 'file',
    answers: 'markdown-zip',
    formats: { listedAt: new URL('/', env.SVC_FILE_CONVERTER_API_URL).href },
  }),
  gwdg_docling: (env: Env): Protocol => ({
    url: env.GWDG_FILE_CONVERTER_API_URL ?? 'https://chat-ai.academiccloud.de/v1/documents/convert',
    key: env.GWDG_API_KEY,
    timeout: env.GWDG_FILE_CONVERTER_TIMEOUT,
    field: 'document',
    answers: 'docling-json',
    formats: doclingFormats,
  }),
  kreuzberg: (env: Env): Protocol => ({
    url: `${env.KREUZBERG_FILE_CONVERTER_API_URL}/extract`,
    timeout: env.KREUZBERG_FILE_CONVERTER_TIMEOUT,
    field: 'files',
    fields: { config: JSON.stringify(kreuzbergConfig) },
    answers: 'kreuzberg-json',
    formats: { listedAt: `${env.KREUZBERG_FILE_CONVERTER_API_URL}/formats` },
  }),
}
