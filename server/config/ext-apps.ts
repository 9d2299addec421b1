import { type AppsFile, appsFile } from '../../routers/apps/sync-apps.ts'
import { readConfigFile } from './config-file.ts'

/** Reads the file of external apps. */
export const readExtApps = (file: string, env: Record<string, string | undefined>): Promise<AppsFile> =>
  readConfigFile(file, appsFile, env)
