import { z } from 'zod'
import { type LoginSourceName, loginSourceNames } from '../../../entities/identity/user.ts'
import { timerDuration } from '../../../routers/ports/duration.ts'
import { count, flag, list, networks } from './setting-types.ts'

const methods = loginSourceNames
type Method = LoginSourceName

const text = z.string().min(1).optional()
const providerUrl = z.url({ protocol: /^https?$/, error: 'must begin with https:// or http://' }).optional()
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9-]+$/, 'must be the exact name of a header: letters, digits and -')
  .toLowerCase()
  .optional()
/** Settings of logging in. */
export const loginShape = {
  AUTHENTICATION_METHOD: list
    .transform((names) => names.map((name) => name.toLowerCase()))
    .pipe(z.array(z.enum(methods)))
    .describe(
      'Where accounts are kept, comma separated: `local`, `ldap`, `oidc`, `proxy`; a person signs in by the one that they are bound to. `local` in development and none in production when absent',
    ),
  BIND_EXISTING_FROM: z
    .enum(methods)
    .optional()
    .describe(
      'The source whose sign-ins bind people that are bound to none yet, once and by their username; needed where AUTHENTICATION_METHOD names several',
    ),
  LOGIN_ATTEMPTS_PER_ACCOUNT: count(10, 1).describe(
    'Failed tries to sign in to one account in a LOGIN_WINDOW; a browser that signed in before counts for itself',
  ),
  LOGIN_ATTEMPTS_PER_ADDRESS: count(300, 1).describe('Failed tries to sign in from one address in a LOGIN_WINDOW'),
  LOGIN_WINDOW: timerDuration.prefault('15m').describe('Time in which failed tries to sign in are counted'),
  ACCOUNTS_FILE: text.describe(
    'JSON or YAML file of the local accounts, which all replicas share; `accounts.json` in DATA_DIR when absent',
  ),
  LDAP_HOST: z
    .string()
    .transform((hosts) => hosts.split(/[\s,]+/).filter(Boolean))
    .pipe(z.array(z.string().regex(/^ldaps?:\/\/[^\s/?#@]+$/i, 'must be ldaps://HOST or ldap://HOST')).min(1))
    .optional()
    .describe('LDAP servers, tried in order: `ldaps://HOST` or `ldap://HOST`, separated by blanks'),
  LDAP_PORT: z.coerce.number().int().min(1).max(65_535).optional().describe('Port of LDAP servers that name none'),
  LDAP_START_TLS: flag(false).describe('Whether `ldap://` connections are secured by StartTLS before anything is sent'),
  LDAP_CA_FILE: text.describe(
    'PEM file of the authorities that LDAP certificates come from; those of the system when absent',
  ),
  LDAP_ALLOW_PLAIN: flag(false).describe('Whether passwords may go to `ldap://` servers unencrypted'),
  LDAP_BIND_DN: text.describe(
    'DN to bind as for the search, or `anonymous`; when absent and LDAP_SEARCH_DN is set: LDAP_BASE_DN',
  ),
  LDAP_BIND_PW: text.describe('Password of LDAP_BIND_DN').meta({ secret: true }),
  LDAP_SEARCH_DN: text.describe('Where to search; LDAP_BASE_DN when absent'),
  LDAP_BASE_DN: text.describe('Where to search when LDAP_SEARCH_DN is absent'),
  LDAP_FILTER: z
    .string()
    .refine((filter) => /=username\)/.test(filter), 'must hold `=username)`, for example `(uid=username)`')
    .refine((filter) => filter.split('(').length === filter.split(')').length, 'has brackets that do not match')
    .optional()
    .describe('Filter that finds one entry; `=username` in it becomes `=` and the account that was typed'),
  LDAP_ATTR_SUBJECT: list
    .prefault('entryUUID,objectGUID')
    .describe(
      'Attributes that never change for a person: the first that an entry has binds it, its DN where it has none',
    ),
  LDAP_ATTR_USERNAME: z.string().default('cn').describe('Attribute of the username'),
  LDAP_ATTR_EMAIL: z.string().default('mail').describe('Attribute of the e-mail address'),
  LDAP_ATTR_NAME: list
    .prefault('displayname')
    .describe(
      'Attributes of the display name, joined by blanks; `cn`, given name and surname, or the username where they are empty',
    ),
  LDAP_ATTR_GROUPS: text.describe('Attribute of the groups, for usage limits; commands set them when absent'),
  LDAP_INVERT_NAME: flag(true).describe('Whether `Last, First` in a single LDAP_ATTR_NAME becomes `First Last`'),
  LDAP_TIMEOUT: timerDuration.prefault('5s').describe('How long to wait for each step of an LDAP server'),
  OIDC_IDP: providerUrl.describe('Issuer URL of the OpenID provider; everything else is found by discovery'),
  OIDC_CLIENT_ID: text.describe('Client id of this service at the OpenID provider'),
  OIDC_CLIENT_SECRET: text
    .describe('Client secret of this service at the OpenID provider; absent for a public client')
    .meta({ secret: true }),
  OIDC_SCOPES: list.prefault('profile,email').describe('Scopes to ask for beside `openid`'),
  OIDC_USERNAME_VAR: z.string().default('preferred_username').describe('Claim of the username'),
  OIDC_EMAIL_VAR: z.string().default('email').describe('Claim of the e-mail address'),
  OIDC_NAME_VAR: text.describe('Claim of the display name; first and last name, else `name`, when absent'),
  OIDC_FIRSTNAME_VAR: text.describe('Claim of the first name'),
  OIDC_LASTNAME_VAR: text.describe('Claim of the last name'),
  OIDC_GROUPS_VAR: text.describe('Claim of the groups, for usage limits; commands set them when absent'),
  OIDC_LOGOUT_URI: providerUrl.describe('URL to sign out at the provider; when absent, the one found by discovery'),
  OIDC_ALLOW_HTTP: flag(false).describe('Whether the OpenID provider may be reached unencrypted'),
  PROXY_ADDRESSES: networks.describe('Addresses or networks of the reverse proxy whose login headers are believed'),
  PROXY_USERNAME_HEADER: headerName.describe('Header of the login proxy with the username'),
  PROXY_EMAIL_HEADER: headerName.describe('Header of the login proxy with the e-mail address'),
  PROXY_NAME_HEADER: headerName.describe('Header of the login proxy with the display name'),
  PROXY_SUBJECT_HEADER: headerName.describe(
    'Header of the login proxy with what never changes for a person; the username binds them when absent, which is unsafe where usernames are given again',
  ),
  PROXY_LOGIN_URL: text.describe('URL where the login proxy signs people in, if it does so on demand'),
  PROXY_LOGOUT_URL: text.describe('URL where the login proxy signs people out'),
}

interface LoginChoice {
  AUTHENTICATION_METHOD: readonly Method[]
  NODE_ENV: 'development' | 'production'
}

export function listLoginMethods({ AUTHENTICATION_METHOD: chosen, NODE_ENV }: LoginChoice): readonly Method[] {
  if (chosen.length > 0) return [...new Set(chosen)]
  return NODE_ENV === 'development' ? ['local'] : []
}

/** Returns the login source that may bind people by their username: the one that the setting names, else the only one. */
export function findBindingSource(env: LoginChoice & { BIND_EXISTING_FROM?: Method | undefined }): Method | undefined {
  const [only, ...others] = listLoginMethods(env)
  return env.BIND_EXISTING_FROM ?? (others.length === 0 ? only : undefined)
}

export const usesLocalAccounts = (env: LoginChoice) => listLoginMethods(env).includes('local')

type Values = Record<string, unknown>

const usesMethod = (env: Values, method: Method) => [env['AUTHENTICATION_METHOD']].flat().includes(method)
const isUnencrypted = (url: unknown) => /^(ldap|http):/i.test(String(url))

/** Creates a rule of a login method. It runs even if there are other problems, so that all are listed. */
const createRule = (method: Method, path: string, message: string, holds: (env: Values) => boolean) =>
  z.refine<Values>((env) => !usesMethod(env, method) || holds(env), { path: [path], message, when: () => true })

const requireSetting = (method: Method, path: string, also = '') =>
  createRule(
    method,
    path,
    `is needed for the login method ${method}${also}`,
    (env) => [env[path]].flat()[0] !== undefined,
  )

/** Rules for the settings that each login method requires. */
export const loginRules = [
  createRule('local', 'ACCOUNTS_FILE', 'production needs an accounts file of its own', (env) =>
    Boolean(env['NODE_ENV'] !== 'production' || env['ACCOUNTS_FILE']),
  ),
  requireSetting('ldap', 'LDAP_HOST'),
  requireSetting('ldap', 'LDAP_FILTER'),
  createRule('ldap', 'LDAP_SEARCH_DN', 'this or LDAP_BASE_DN is needed for the login method ldap', (env) =>
    Boolean(env['LDAP_SEARCH_DN'] ?? env['LDAP_BASE_DN']),
  ),
  createRule('ldap', 'LDAP_BIND_DN', 'is needed for the login method ldap; it may be `anonymous`', (env) =>
    Boolean(env['LDAP_BIND_DN'] ?? (env['LDAP_SEARCH_DN'] && env['LDAP_BASE_DN'])),
  ),
  createRule('ldap', 'LDAP_BIND_PW', 'is needed unless LDAP_BIND_DN is `anonymous`', (env) =>
    Boolean(env['LDAP_BIND_PW'] ?? env['LDAP_BIND_DN'] === 'anonymous'),
  ),
  createRule(
    'ldap',
    'LDAP_HOST',
    'sends passwords unencrypted: use ldaps://, LDAP_START_TLS or LDAP_ALLOW_PLAIN',
    (env) =>
      Boolean(env['LDAP_START_TLS'] || env['LDAP_ALLOW_PLAIN'] || ![env['LDAP_HOST']].flat().some(isUnencrypted)),
  ),
  requireSetting('oidc', 'BASE_URL', ', which sends the browser back there'),
  requireSetting('oidc', 'OIDC_IDP'),
  requireSetting('oidc', 'OIDC_CLIENT_ID'),
  createRule('oidc', 'OIDC_IDP', 'is not encrypted: use https:// or set OIDC_ALLOW_HTTP', (env) =>
    Boolean(env['OIDC_ALLOW_HTTP'] || !isUnencrypted(env['OIDC_IDP'])),
  ),
  requireSetting('proxy', 'PROXY_ADDRESSES'),
  requireSetting('proxy', 'PROXY_USERNAME_HEADER'),
  requireSetting('proxy', 'PROXY_EMAIL_HEADER'),
  requireSetting('proxy', 'PROXY_NAME_HEADER'),
  z.refine<Values>(
    ({ BIND_EXISTING_FROM: from, AUTHENTICATION_METHOD: chosen }) =>
      from === undefined || [chosen].flat().length === 0 || [chosen].flat().includes(from),
    { path: ['BIND_EXISTING_FROM'], message: 'must be one of AUTHENTICATION_METHOD', when: () => true },
  ),
]
