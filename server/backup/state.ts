import { join } from 'node:path'
import type { Env } from '../config/settings.ts'
import { accountsFile } from '../login/accounts.ts'

/** The files that the service keeps beside the database, and the name that a backup gives them. */
export const statePlaces = (env: Env) => [
  { name: 'accounts.json', path: accountsFile(env) },
  { name: 'announcements', path: announcementsFolder(env) },
]

/** The folder with the texts of announcements. */
export const announcementsFolder = ({ ANNOUNCEMENTS, DATA_DIR }: Env): string =>
  ANNOUNCEMENTS ?? join(DATA_DIR, 'announcements')
