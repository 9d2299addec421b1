import { join } from 'node:path'
import type { Env } from '../config/settings.ts'
import { accountsFile } from '../login/accounts.ts'

/** What the service keeps as files beside the database, and under which name a backup has it. */
export const statePlaces = (env: Env) => [
  { name: 'accounts.json', path: accountsFile(env) },
  { name: 'announcements', path: announcementsFolder(env) },
]

/** The folder with the texts of announcements. */
export const announcementsFolder = ({ ANNOUNCEMENTS, DATA_DIR }: Env): string =>
  ANNOUNCEMENTS ?? join(DATA_DIR, 'announcements')
