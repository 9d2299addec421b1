import { z } from 'zod'
import { timerDuration } from '../../../routers/ports/duration.ts'
import { MAX_DIMENSIONS } from '../../../routers/ports/knowledge-indexes.ts'
import { count, durationOrNone, httpAddress } from './setting-types.ts'

const MB = 1024 * 1024

const key = z.string().min(1).optional()

/** Settings of the extraction of text from files, and of the search in them. */
export const filesShape = {
  FILE_TEXT_WORKERS: count(1, 1, 16)
    .describe('Sets the number of processes that read the text of files at the same time.')
    .meta({ priority: 'tuning' }),
  FILE_TEXT_MEMORY: count(512 * MB, 160 * MB)
    .describe('Limits the memory for reading the text of one file, in bytes.')
    .meta({ priority: 'tuning' }),
  FILE_TEXT_TIMEOUT: timerDuration
    .prefault('60s')
    .describe(
      'Limits the processor time for reading the text of one file. The limit by the clock is ten times as long.',
    )
    .meta({ priority: 'tuning' }),
  FILE_TEXT_WAIT: durationOrNone
    .prefault('20s')
    .describe(
      'Sets the time that an AI request waits for the text of a file that is still being read. Then it is refused with 409.',
    )
    .meta({ priority: 'tuning' }),
  FILE_TEXT_MAX_CHARACTERS: count(500_000, 1000, 5_000_000)
    .describe('Limits the text that is kept of one file, in characters.')
    .meta({ priority: 'tuning' }),
  KNOWLEDGE_QUOTA: count(1024 * MB, 1)
    .describe('Limits the files of all knowledge of one person together, in bytes.')
    .meta({ priority: 'may' }),
  KNOWLEDGE_QUOTA_FILES: count(10_000, 1, 1_000_000)
    .describe('Limits the number of files of all knowledge of one person together.')
    .meta({ priority: 'tuning' }),
  KNOWLEDGE_MEMORY: count(256 * MB, MB)
    .describe(
      'Limits the memory of this process for the indexes of knowledge that were searched last, in bytes. One that is being made takes at most as much again. Knowledge with a larger index cannot be searched.',
    )
    .meta({ priority: 'tuning' }),
  KNOWLEDGE_EMBEDDING_MODEL: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      'Names the embedding model by which knowledge is also searched by meaning, as requests name it. Everybody may use it there, whatever groups it is for. If absent, searches go by words alone. After a change, `svc knowledge rebuild` shows the price and builds the vectors of the new model, while those of the previous one are searched.',
    )
    .meta({ priority: 'may' }),
  KNOWLEDGE_EMBEDDING_DIMENSIONS: z.coerce
    .number()
    .int()
    .min(8)
    .max(MAX_DIMENSIONS)
    .optional()
    .describe('Sets the dimensions that the embedding model is asked for. If absent, it uses its own.')
    .meta({ priority: 'tuning' }),
  KNOWLEDGE_WORDS_WEIGHT: z.coerce
    .number()
    .min(0)
    .max(100)
    .default(2)
    .describe('Sets how much the search by words counts beside the search by meaning, which counts 1.')
    .meta({ priority: 'tuning' }),
  FILE_CONVERTER: z
    .enum(['svc_converter', 'gwdg_docling', 'kreuzberg'])
    .optional()
    .describe(
      'Names the service that converts files to text. If absent, it is `svc_converter` where its address is set, and else the built-in parsers, which also take over if such a service fails.',
    )
    .meta({ priority: 'may' }),
  SVC_FILE_CONVERTER_API_URL: httpAddress
    .optional()
    .describe('Sets the address to which `svc_converter` accepts files.')
    .meta({ priority: 'may' }),
  SVC_FILE_CONVERTER_API_KEY: key
    .describe('Sets the API key of `svc_converter`.')
    .meta({ priority: 'may', secret: true }),
  SVC_FILE_CONVERTER_TIMEOUT: timerDuration
    .prefault('60s')
    .describe('Sets the time limit of a conversion by `svc_converter`.')
    .meta({ priority: 'tuning' }),
  GWDG_FILE_CONVERTER_API_URL: httpAddress
    .optional()
    .describe('Sets the address to which `gwdg_docling` accepts files. If absent, it is the address of the GWDG.')
    .meta({ priority: 'may' }),
  GWDG_API_KEY: key.describe('Sets the API key of `gwdg_docling`.').meta({ priority: 'may', secret: true }),
  GWDG_FILE_CONVERTER_TIMEOUT: timerDuration
    .prefault('240s')
    .describe('Sets the time limit of a conversion by `gwdg_docling`.')
    .meta({ priority: 'tuning' }),
  KREUZBERG_FILE_CONVERTER_API_URL: httpAddress
    .optional()
    .describe('Sets the address of `kreuzberg`, without `/extract`.')
    .meta({ priority: 'may' }),
  KREUZBERG_FILE_CONVERTER_TIMEOUT: timerDuration
    .prefault('60s')
    .describe('Sets the time limit of a conversion by `kreuzberg`.')
    .meta({ priority: 'tuning' }),
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
