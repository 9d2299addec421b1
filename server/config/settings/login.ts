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
      'Lists the sources of accounts, separated by commas: `local`, `ldap`, `oidc`, `proxy`. A person signs in with the source that their account is bound to. If absent, development uses `local` and production uses none.',
    )
    .meta({ priority: 'must' }),
  BIND_EXISTING_FROM: z
    .enum(methods)
    .optional()
    .describe(
      'Names the source whose sign-ins bind accounts without a source, once and by their username. It is required if AUTHENTICATION_METHOD lists several.',
    )
    .meta({ priority: 'may' }),
  LOGIN_ATTEMPTS_PER_ACCOUNT: count(10, 1)
    .describe(
      'Limits the failed sign-ins to one account in a LOGIN_WINDOW. A browser that signed in before has a count of its own.',
    )
    .meta({ priority: 'tuning' }),
  LOGIN_ATTEMPTS_PER_ADDRESS: count(300, 1)
    .describe('Limits the failed sign-ins from one address in a LOGIN_WINDOW.')
    .meta({ priority: 'tuning' }),
  LOGIN_WINDOW: timerDuration
    .prefault('15m')
    .describe('Sets the time window in which failed sign-ins are counted.')
    .meta({ priority: 'tuning' }),
  ACCOUNTS_FILE: text
    .describe(
      'Names the JSON or YAML file of the local accounts, which all replicas share. If absent, it is `accounts.json` in DATA_DIR.',
    )
    .meta({ priority: 'may' }),
  LDAP_HOST: z
    .string()
    .transform((hosts) => hosts.split(/[\s,]+/).filter(Boolean))
    .pipe(z.array(z.string().regex(/^ldaps?:\/\/[^\s/?#@]+$/i, 'must be ldaps://HOST or ldap://HOST')).min(1))
    .optional()
    .describe(
      'Lists the LDAP servers in the order in which they are tried, separated by spaces: `ldaps://HOST` or `ldap://HOST`.',
    )
    .meta({ priority: 'may' }),
  LDAP_PORT: z.coerce
    .number()
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe('Sets the port of LDAP servers whose address has none.')
    .meta({ priority: 'may' }),
  LDAP_START_TLS: flag(false)
    .describe('Secures `ldap://` connections with StartTLS before anything is sent.')
    .meta({ priority: 'may' }),
  LDAP_CA_FILE: text
    .describe(
      'Names the PEM file of the authorities that sign LDAP certificates. If absent, the authorities of the system are used.',
    )
    .meta({ priority: 'may' }),
  LDAP_ALLOW_PLAIN: flag(false)
    .describe('Allows passwords to be sent unencrypted to `ldap://` servers.')
    .meta({ priority: 'may' }),
  LDAP_BIND_DN: text
    .describe(
      'Sets the DN that the search binds as, or `anonymous`. If absent and LDAP_SEARCH_DN is set, it is LDAP_BASE_DN.',
    )
    .meta({ priority: 'may' }),
  LDAP_BIND_PW: text.describe('Sets the password of LDAP_BIND_DN.').meta({ priority: 'may', secret: true }),
  LDAP_SEARCH_DN: text
    .describe('Sets the DN below which people are searched. If absent, it is LDAP_BASE_DN.')
    .meta({ priority: 'may' }),
  LDAP_BASE_DN: text
    .describe('Sets the DN below which people are searched if LDAP_SEARCH_DN is absent.')
    .meta({ priority: 'may' }),
  LDAP_FILTER: z
    .string()
    .refine((filter) => /=username\)/.test(filter), 'must hold `=username)`, for example `(uid=username)`')
    .refine((filter) => filter.split('(').length === filter.split(')').length, 'has brackets that do not match')
    .optional()
    .describe(
      'Sets the filter that finds one entry. `=username` in it is replaced by `=` and the account that was typed.',
    )
    .meta({ priority: 'may' }),
  LDAP_ATTR_SUBJECT: list
    .prefault('entryUUID,objectGUID')
    .describe(
      'Lists the attributes that never change for a person. The first that an entry has binds the account; an entry without any is bound by its DN.',
    )
    .meta({ priority: 'may' }),
  LDAP_ATTR_USERNAME: z
    .string()
    .default('cn')
    .describe('Names the attribute of the username.')
    .meta({ priority: 'may' }),
  LDAP_ATTR_EMAIL: z
    .string()
    .default('mail')
    .describe('Names the attribute of the e-mail address.')
    .meta({ priority: 'may' }),
  LDAP_ATTR_NAME: list
    .prefault('displayname')
    .describe(
      'Lists the attributes of the display name, which are joined by spaces. If they are empty, the name is `cn`, given name and surname, or the username.',
    )
    .meta({ priority: 'may' }),
  LDAP_ATTR_GROUPS: text
    .describe('Names the attribute of the groups for usage limits. If absent, commands set the groups.')
    .meta({ priority: 'may' }),
  LDAP_INVERT_NAME: flag(true)
    .describe('Turns `Last, First` in a single LDAP_ATTR_NAME into `First Last`.')
    .meta({ priority: 'may' }),
  LDAP_TIMEOUT: timerDuration
    .prefault('5s')
    .describe('Sets the time limit of each step with an LDAP server.')
    .meta({ priority: 'tuning' }),
  OIDC_IDP: providerUrl
    .describe('Sets the issuer URL of the OpenID provider. Discovery finds all other addresses.')
    .meta({ priority: 'may' }),
  OIDC_CLIENT_ID: text.describe('Sets the client id of this service at the OpenID provider.').meta({ priority: 'may' }),
  OIDC_CLIENT_SECRET: text
    .describe('Sets the client secret of this service at the OpenID provider. It is absent for a public client.')
    .meta({ priority: 'may', secret: true }),
  OIDC_SCOPES: list
    .prefault('profile,email')
    .describe('Lists the scopes that are requested in addition to `openid`.')
    .meta({ priority: 'may' }),
  OIDC_USERNAME_VAR: z
    .string()
    .default('preferred_username')
    .describe('Names the claim of the username.')
    .meta({ priority: 'may' }),
  OIDC_EMAIL_VAR: z
    .string()
    .default('email')
    .describe('Names the claim of the e-mail address.')
    .meta({ priority: 'may' }),
  OIDC_NAME_VAR: text
    .describe('Names the claim of the display name. If absent, the name is first and last name, or else `name`.')
    .meta({ priority: 'may' }),
  OIDC_FIRSTNAME_VAR: text.describe('Names the claim of the first name.').meta({ priority: 'may' }),
  OIDC_LASTNAME_VAR: text.describe('Names the claim of the last name.').meta({ priority: 'may' }),
  OIDC_GROUPS_VAR: text
    .describe('Names the claim of the groups for usage limits. If absent, commands set the groups.')
    .meta({ priority: 'may' }),
  OIDC_LOGOUT_URI: providerUrl
    .describe('Sets the URL that signs people out at the provider. If absent, discovery finds it.')
    .meta({ priority: 'may' }),
  OIDC_ALLOW_HTTP: flag(false)
    .describe('Allows an unencrypted connection to the OpenID provider.')
    .meta({ priority: 'may' }),
  PROXY_ADDRESSES: networks
    .describe('Lists the addresses or networks of the reverse proxy whose login headers are trusted.')
    .meta({ priority: 'may' }),
  PROXY_USERNAME_HEADER: headerName
    .describe('Names the header of the login proxy that contains the username.')
    .meta({ priority: 'may' }),
  PROXY_EMAIL_HEADER: headerName
    .describe('Names the header of the login proxy that contains the e-mail address.')
    .meta({ priority: 'may' }),
  PROXY_NAME_HEADER: headerName
    .describe('Names the header of the login proxy that contains the display name.')
    .meta({ priority: 'may' }),
  PROXY_SUBJECT_HEADER: headerName
    .describe(
      'Names the header of the login proxy that contains an id which never changes for a person. If absent, the username binds the account, which is unsafe where usernames are reused.',
    )
    .meta({ priority: 'may' }),
  PROXY_LOGIN_URL: text
    .describe('Sets the URL where the login proxy signs people in, if it does so on demand.')
    .meta({ priority: 'may' }),
  PROXY_LOGOUT_URL: text.describe('Sets the URL where the login proxy signs people out.').meta({ priority: 'may' }),
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
