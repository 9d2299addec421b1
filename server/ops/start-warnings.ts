import { listCurrentAnnouncements } from '../../entities/system/announcement.sql.ts'
import type { Services } from '../../routers/core/services.ts'
import { isLoopback } from '../config/settings/kinds.ts'
import type { Env } from '../config/settings.ts'

/** Tells the log what a service that has started cannot do, and which setting changes it. */
export async function warnAtStart(services: Services, env: Env): Promise<void> {
  const { kv, loginSources, log } = services
  // People and access tokens get in without Redis, and it may come later.
  await kv.ping().catch((error: unknown) => {
    log.warn(
      { error },
      'Redis does not answer at the address in REDIS_URL. Until it does, this replica is not ready, and counts limits for itself.',
    )
  })
  const { password, redirect, header } = await loginSources()
  if (!password && !redirect && !header)
    log.warn({}, 'Nobody can sign in, because AUTHENTICATION_METHOD is not set. It may be local, ldap, oidc or proxy.')
  if (header && !env.PROXY_SUBJECT_HEADER)
    log.warn(
      {},
      'PROXY_SUBJECT_HEADER is not set, so the login proxy binds people to their username: whoever gets the username of somebody who has left gets their account, too.',
    )
  if (isOpenToReaders(env))
    log.warn(
      {},
      'BASE_URL begins with http://, where others can read access tokens on the way and browsers send no session: set it to the https:// address of the proxy in front.',
    )
  await warnOfMissingTexts(services)
}

/** Not refused: a command makes the folder, and may do so later. */
async function warnOfMissingTexts({ sql, announcementText, log }: Services): Promise<void> {
  const current = await sql(listCurrentAnnouncements)
  const hasText = await Promise.all(current.map(async ({ view }) => Boolean(await announcementText(view))))
  const missing = current
    .filter((_, index) => !hasText[index])
    .map(({ id, view, isForced }) => ({ announcement: id, folder: view, isForced }))
  if (missing.length > 0)
    log.warn(
      { missing },
      'Texts of announcements in force are missing in the folder ANNOUNCEMENTS. Until they are there again nobody can accept them, and who has not accepted a forced one can neither write nor ask a model.',
    )
}

/** Not refused: BASE_URL may be wrong while a proxy ends TLS and says so by X-Forwarded-Proto. */
const isOpenToReaders = ({ NODE_ENV, BASE_URL }: Env): boolean =>
  NODE_ENV === 'production' && Boolean(BASE_URL?.startsWith('http:')) && !isLoopback(BASE_URL ?? '')
