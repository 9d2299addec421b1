import { type AppsFile, appsFile } from '../../routers/apps/sync-apps.ts'
import { readConfigFile } from './config-file.ts'

/** Reads the file of external apps; without one there are only those of administrators. */
export const readExtApps = async (
  file: string | undefined,
  env: Record<string, string | undefined>,
): Promise<AppsFile> => (file ? readConfigFile(file, appsFile, env) : { apps: [] })
