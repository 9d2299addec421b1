import { z } from 'zod'
import { timerDuration } from '../../../routers/ports/duration.ts'
import { count, durationOrNone, httpAddress } from './setting-types.ts'

const MB = 1024 * 1024

const key = z.string().min(1).optional()

/** Settings of the extraction of text from files. */
export const filesShape = {
  FILE_TEXT_WORKERS: count(1, 1, 16).describe(
    'How many files are read at once for their text, each by a process of its own',
  ),
  FILE_TEXT_MEMORY: count(512 * MB, 160 * MB).describe('Memory that reading the text of a file may take, in bytes'),
  FILE_TEXT_TIMEOUT: timerDuration
    .prefault('60s')
    .describe('Processor time that reading the text of a file may take; ten times as long by the clock'),
  FILE_TEXT_WAIT: durationOrNone
    .prefault('20s')
    .describe(
      'How long an AI request waits for the text of a file that is still being read, before it is refused with 409',
    ),
  FILE_TEXT_MAX_CHARACTERS: count(500_000, 1000, 5_000_000).describe(
    'How many characters are kept of the text of a file',
  ),
  FILE_CONVERTER: z
    .enum(['svc_converter', 'gwdg_docling', 'kreuzberg'])
    .optional()
    .describe(
      'Service that turns files into text; when absent, `svc_converter` if its address is set, else the built-in parsers, which also take over where such a service fails',
    ),
  SVC_FILE_CONVERTER_API_URL: httpAddress.optional().describe('Address to which `svc_converter` takes files'),
  SVC_FILE_CONVERTER_API_KEY: key.describe('Key of `svc_converter`').meta({ secret: true }),
  SVC_FILE_CONVERTER_TIMEOUT: timerDuration.prefault('60s').describe('How long to wait for `svc_converter`'),
  GWDG_FILE_CONVERTER_API_URL: httpAddress
    .optional()
    .describe('Address to which `gwdg_docling` takes files; that of the GWDG when absent'),
  GWDG_API_KEY: key.describe('Key of `gwdg_docling`').meta({ secret: true }),
  GWDG_FILE_CONVERTER_TIMEOUT: timerDuration.prefault('240s').describe('How long to wait for `gwdg_docling`'),
  KREUZBERG_FILE_CONVERTER_API_URL: httpAddress.optional().describe('Address of `kreuzberg`, without `/extract`'),
  KREUZBERG_FILE_CONVERTER_TIMEOUT: timerDuration.prefault('60s').describe('How long to wait for `kreuzberg`'),
}

const requiredByConverter = {
  svc_converter: ['SVC_FILE_CONVERTER_API_URL', 'SVC_FILE_CONVERTER_API_KEY'],
  gwdg_docling: ['GWDG_API_KEY'],
  kreuzberg: ['KREUZBERG_FILE_CONVERTER_API_URL'],
} as const

/** Returns the configured file converter, which is chosen by its name or by its address. */
export function chooseConverter(env: { FILE_CONVERTER?: unknown; SVC_FILE_CONVERTER_API_URL?: unknown }) {
  const { FILE_CONVERTER: name, SVC_FILE_CONVERTER_API_URL: url } = env
  return (name ?? (url ? 'svc_converter' : undefined)) as keyof typeof requiredByConverter | undefined
}

export const filesRules = Object.entries(requiredByConverter).flatMap(([converter, names]) =>
  names.map((name) =>
    z.refine<Record<string, unknown>>((env) => chooseConverter(env) !== converter || env[name] !== undefined, {
      path: [name],
      message: `is required by the file converter ${converter}`,
      when: () => true,
    }),
  ),
)
