import type { Services } from '../../routers/core/services.ts'
import type { Env } from '../config/settings.ts'

/** Tells the log what a service that has started cannot do, and which setting changes it. */
export async function warnAtStart({ kv, loginSources, log }: Services, env: Env): Promise<void> {
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
  if (isOpenToReaders(env))
    log.warn(
      {},
      'BASE_URL begins with http://, where others can read access tokens on the way and browsers send no session: set it to the https:// address of the proxy in front.',
    )
}

const ownHost = /^(localhost|.+\.localhost|127\.[\d.]+|\[::1\])$/

/** Not refused: BASE_URL may be wrong while a proxy ends TLS and says so by X-Forwarded-Proto. */
function isOpenToReaders({ NODE_ENV, BASE_URL }: Env): boolean {
  const { protocol, hostname = '' } = (BASE_URL && URL.parse(BASE_URL)) || {}
  return NODE_ENV === 'production' && protocol === 'http:' && !ownHost.test(hostname)
}
