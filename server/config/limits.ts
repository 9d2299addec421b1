import { type LimitsConfig, limitsConfig } from '../../routers/ports/ai/limits-config.ts'
import { readConfigFile } from './config-file.ts'

/** Reads the file of usage limits; without one there are only those of administrators. */
export async function readLimits(
  file: string | undefined,
  env: Record<string, string | undefined>,
): Promise<LimitsConfig> {
  return file ? readConfigFile(file, limitsConfig, env) : limitsConfig.parse({ limits: [] })
}
