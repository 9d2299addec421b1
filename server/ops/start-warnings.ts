import { listCurrentAnnouncements } from '../../entities/system/announcement.sql.ts'
import type { Services } from '../../routers/core/services.ts'
import { isLoopback } from '../config/settings/setting-types.ts'
import type { Env } from '../config/settings.ts'

/** Logs warnings about features that do not work with the current settings. */
export async function warnAtStart(services: Services, env: Env): Promise<void> {
  const { log } = services
  const { kv } = services.stores
  const { sources: loginSources } = services.login
  // Sessions and tokens work without Redis, and it may become available later.
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
  if (isUnencrypted(env))
    log.warn(
      {},
      'BASE_URL begins with http://, where others can read access tokens on the way and browsers send no session: set it to the https:// address of the proxy in front.',
    )
  await warnOfMissingTexts(services)
}

/** Warns of missing announcement texts. They do not prevent the start, because a command may create them later. */
async function warnOfMissingTexts({ sql, log, texts: { announcementText } }: Services): Promise<void> {
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

/** Returns whether BASE_URL is unencrypted. It does not prevent the start, because a proxy may still end TLS and say so by X-Forwarded-Proto. */
const isUnencrypted = ({ NODE_ENV, BASE_URL }: Env): boolean =>
  NODE_ENV === 'production' && Boolean(BASE_URL?.startsWith('http:')) && !isLoopback(BASE_URL ?? '')
