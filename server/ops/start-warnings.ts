import type { Services } from '../../routers/core/services.ts'

/** Tells the log what a service that has started cannot do, and which setting changes it. */
export async function warnAtStart({ kv, loginSources, log }: Services): Promise<void> {
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
}
