import { readFile } from 'node:fs/promises'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import type { LoginServices } from '../../routers/core/services.ts'
import { createLoginThrottle, type LoginLimits } from '../../routers/identity/sessions/login-throttle.ts'
import type { Log } from '../../routers/ports/log.ts'
import { account as accountText, type LoginSources, type PasswordSource } from '../../routers/ports/login.ts'
import type { RateLimiter } from '../../routers/ports/rate-limiter.ts'
import { listLoginMethods, usesLocalAccounts } from '../config/settings/login.ts'
import type { Env } from '../config/settings.ts'
import { resolveAccountsPath } from './accounts.ts'
import type { LdapOptions } from './ldap.ts'
import { createLocalAccounts, type OpenedLocalAccounts } from './local.ts'
import { createProxy } from './proxy.ts'

/** Opens the services for signing in. */
export function openLogin(env: Env, limiter: RateLimiter, log: Log): Omit<LoginServices, 'connectRequests'> {
  const localAccounts = openLocalAccounts(env, log)
  return {
    sources: lazyPromise(() => openLoginSources(env, log, localAccounts)),
    localAccounts,
    throttle: createLoginThrottle(limiter, readLimits(env)),
  }
}

const readLimits = (env: Env): LoginLimits => ({
  perAccount: env.LOGIN_ATTEMPTS_PER_ACCOUNT,
  perAddress: env.LOGIN_ATTEMPTS_PER_ADDRESS,
  windowSeconds: Math.ceil(env.LOGIN_WINDOW / 1000),
})

/** Opens the configured login sources; throws if one of their files is unusable. */
export async function openLoginSources(
  env: Env,
  log: Log,
  localAccounts = openLocalAccounts(env, log),
): Promise<LoginSources> {
  const methods = listLoginMethods(env)
  const passwords: PasswordSource[] = []
  for (const method of methods) {
    if (method === 'local') passwords.push(await openLocalSource(localAccounts))
    if (method === 'ldap') passwords.push(await openLdap(env, log))
  }
  return {
    ...(passwords.length > 0 && { password: trySourcesInOrder(passwords) }),
    ...(methods.includes('oidc') && { redirect: await openOidc(env, log) }),
    ...(methods.includes('proxy') && { header: openProxy(env, log) }),
  }
}

const MAX_PASSWORD = 1024

/**
 * Asks the sources one after the other. A failed login has asked all of them, so its duration does not reveal which one
 * has the account.
 */
function trySourcesInOrder(sources: readonly PasswordSource[]): PasswordSource {
  return {
    async verify(input, password) {
      const account = accountText.safeParse(input)
      if (!account.success || password === '' || password.length > MAX_PASSWORD) return undefined
      let failure: unknown
      for (const source of sources) {
        const identity = await source.verify(account.data, password).catch((error: unknown) => {
          failure = error
        })
        if (identity) return identity
      }
      if (failure) throw failure
      return undefined
    },
  }
}

const openLocalAccounts = (env: Env, log: Log): OpenedLocalAccounts =>
  createLocalAccounts(
    {
      file: resolveAccountsPath(env),
      inUse: usesLocalAccounts(env),
      allowExamples: env.NODE_ENV === 'development',
    },
    log,
  )

async function openLocalSource(accounts: OpenedLocalAccounts): Promise<PasswordSource> {
  await accounts.assertUsable()
  return accounts
}

/** The LDAP library is loaded only if it is used. */
async function openLdap(env: Env, log: Log): Promise<PasswordSource> {
  const { createLdap } = await import('./ldap.ts')
  return createLdap(await readLdapOptions(env), log)
}

async function readLdapOptions(env: Env): Promise<LdapOptions> {
  const { LDAP_SEARCH_DN: search, LDAP_BASE_DN: base = '', LDAP_BIND_DN: dn = base } = env
  return {
    urls: (env.LDAP_HOST ?? []).map((url) => (env.LDAP_PORT && !/:\d+$/.test(url) ? `${url}:${env.LDAP_PORT}` : url)),
    startTls: env.LDAP_START_TLS,
    ca: env.LDAP_CA_FILE && (await readFile(env.LDAP_CA_FILE, 'utf8')),
    bind: dn === 'anonymous' ? undefined : { dn, password: env.LDAP_BIND_PW ?? '' },
    base: search ?? base,
    filter: env.LDAP_FILTER ?? '',
    attributes: {
      subject: env.LDAP_ATTR_SUBJECT,
      username: env.LDAP_ATTR_USERNAME,
      email: env.LDAP_ATTR_EMAIL,
      name: env.LDAP_ATTR_NAME,
      invertName: env.LDAP_INVERT_NAME,
      groups: env.LDAP_ATTR_GROUPS,
    },
    timeout: env.LDAP_TIMEOUT,
  }
}

/** The OpenID library is loaded only if it is used. */
async function openOidc(env: Env, log: Log) {
  const { createOidc } = await import('./oidc.ts')
  const options = {
    issuer: env.OIDC_IDP ?? '',
    clientId: env.OIDC_CLIENT_ID ?? '',
    clientSecret: env.OIDC_CLIENT_SECRET,
    scopes: env.OIDC_SCOPES,
    claims: {
      username: env.OIDC_USERNAME_VAR,
      email: env.OIDC_EMAIL_VAR,
      name: env.OIDC_NAME_VAR,
      firstName: env.OIDC_FIRSTNAME_VAR,
      lastName: env.OIDC_LASTNAME_VAR,
      groups: env.OIDC_GROUPS_VAR,
    },
    logoutUrl: env.OIDC_LOGOUT_URI,
    baseUrl: env.BASE_URL ?? '',
    allowHttp: env.OIDC_ALLOW_HTTP,
  }
  return createOidc(options, log)
}

function openProxy(env: Env, log: Log) {
  const headers = {
    username: env.PROXY_USERNAME_HEADER ?? '',
    email: env.PROXY_EMAIL_HEADER ?? '',
    name: env.PROXY_NAME_HEADER ?? '',
    subject: env.PROXY_SUBJECT_HEADER,
  }
  const { PROXY_ADDRESSES: addresses, PROXY_LOGIN_URL: loginUrl, PROXY_LOGOUT_URL: logoutUrl } = env
  return createProxy({ addresses, headers, loginUrl, logoutUrl }, log)
}
