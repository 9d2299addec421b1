import type { TextExtractor } from '../../routers/ports/files/text-extractor.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { Env } from '../config/settings.ts'
import { createConverter } from './converters/create-converter.ts'
import { createSandboxPool } from './sandbox-pool.ts'
import { createTextExtractor } from './text-extractor.ts'

/** What reads the text of files as the settings have it, and the way to close it. */
export function openTexts(env: Env, log: Log): { extractor: TextExtractor; close(): Promise<void> } {
  const converter = createConverter(env)
  const sandboxes = createSandboxPool({
    workers: env.FILE_TEXT_WORKERS,
    memory: env.FILE_TEXT_MEMORY,
    timeout: env.FILE_TEXT_TIMEOUT,
    maxCharacters: env.FILE_TEXT_MAX_CHARACTERS,
  })
  return { extractor: createTextExtractor({ sandboxes, converter, log }), close: async () => converter?.close() }
}
